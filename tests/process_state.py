"""What a process keeps between two requests, and how tests begin without it.

Every object of a module that may change while the site runs is named here: it is reset
before each test, or there is a reason to keep it. `tests/test_process_state.py` fails
if a module has one that is not named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from django.core.cache import cache


def renew(instance: Any) -> None:
    """Put an object into the state in which its class makes it."""
    vars(instance).clear()
    type(instance).__init__(instance)


def _with(method: str) -> Callable[[Any], None]:
    def call(instance: Any) -> None:
        getattr(instance, method)()

    return call


clear, uncache, end = _with("clear"), _with("cache_clear"), _with("end")

RESET: Mapping[str, Callable[[Any], None]] = {
    "apps.accounts.guesses.guesses": clear,
    "apps.accounts.services.key_authentication._cache": clear,
    "apps.budgets.rate_limits._limiter_of": uncache,
    "apps.budgets.selectors._standings": clear,
    "apps.core.background.pacing.open_requests": renew,
    "apps.core.background.pacing.background_time": clear,
    "apps.core.redaction.known_secrets": uncache,
    "apps.core.redis_outage.redis_outage": end,
    "apps.evaluation.ab.arms._active": clear,
    "apps.evaluation.code_grading.code_grades": renew,
    "apps.evaluation.earlier.earlier_evaluation": uncache,
    "apps.evaluation.reports.headline._headline": uncache,
    "apps.evaluation.reports.known_tasks._tasks": uncache,
    "apps.governance.selectors._policies": clear,
    "apps.insights.query_report._kept_histograms": uncache,
    "apps.insights.query_report._kept_numbers": uncache,
    "apps.pools.services.server_status._looks": clear,
    "apps.pools.slots.model_calls": renew,
    "apps.pools.snapshots._snapshots": clear,
    "apps.runs.planning.families._admitted": clear,
    "apps.runs.tasks._ahead": clear,
    "apps.runs.tasks._waker": uncache,
    "apps.runs.usage.report._kept_groups": uncache,
    "apps.sharing.lookups.lookups": clear,
    "apps.training.live_exploration._shares": clear,
    "apps.training.trainings.embedding._kept": clear,
    "conductor_site.health.readiness": renew,
    "conductor_site.metrics._site": renew,
    "conductor_site.serving.drain.drain": renew,
}
"""Objects, and what makes them forget."""

RESET_BY_CALL: Mapping[str, str] = {
    "apps.audit.writer._writer": "apps.audit.writer.close_writer",
    "apps.core.ids._sequence": "apps.core.ids.begin_anew",
    "apps.pools.prices.catalog_cache._shelf": (
        "apps.pools.prices.catalog_cache.price_book_forget"
    ),
}
"""Objects, and the functions of their modules that reset them."""

_OF_ARGUMENTS = "what it remembers follows from the arguments alone"
_OF_CODE = "what it remembers follows from the code alone"
_COUNTED = "tests compare counts before and after"
_OF_A_LOOP = "it belongs to the event loop of the server, which serves many tests"
_RANDOM = "random numbers for nothing that a test looks at"
_OF_A_SITE = "a site opens and closes it"

KEPT: Mapping[str, str] = {
    "apps.accounts.digests._peppers": _OF_ARGUMENTS,
    "apps.audit.append._actor": _OF_ARGUMENTS,
    "apps.audit.append._key": _OF_ARGUMENTS,
    "apps.audit.append._tail": _OF_ARGUMENTS,
    "apps.audit.append._word": _OF_ARGUMENTS,
    "apps.audit.storage.compression._dictionary": "a file that never changes",
    "apps.audit.browsing.search._fact_needles": _OF_ARGUMENTS,
    "apps.audit.job_news._listening": "weak: threads of a closed site are gone",
    "apps.audit.macs._keys": _OF_ARGUMENTS,
    "apps.audit.metrics.CHECKPOINTS_REFUSED": _COUNTED,
    "apps.audit.metrics.COPIES_FAILED": _COUNTED,
    "apps.audit.metrics.GROUP": _COUNTED,
    "apps.audit.metrics.LAG": _COUNTED,
    "apps.audit.signing._private_keys": _OF_ARGUMENTS,
    "apps.audit.sql_dialects._insertion": _OF_ARGUMENTS,
    "apps.audit.sql_dialects._marked": _OF_ARGUMENTS,
    "apps.audit.writer._writer_pid": "means nothing without a writer",
    "apps.audit.writer_ipc._actor": _OF_ARGUMENTS,
    "apps.audit.writer_ipc._uuid": _OF_ARGUMENTS,
    "apps.audit.writer_process._forked": "only processes that serve fork one",
    "apps.core.background.pacing._thread": "each thread takes away what it put there",
    "apps.comparisons.services._chance": _RANDOM,
    "apps.core.input_parts.pattern_compiled": _OF_ARGUMENTS,
    "apps.core.keyring._first": _OF_ARGUMENTS,
    "apps.core.keyring._ring": _OF_ARGUMENTS,
    "apps.runs.telemetry.loop_lag.LOOP_LAG": _COUNTED,
    "apps.core.request_metrics.REQUESTS": _COUNTED,
    "apps.core.request_metrics.REQUEST_SECONDS": _COUNTED,
    "apps.core.request_metrics._open_sockets": _COUNTED,
    "apps.engine.structured._checker": _OF_ARGUMENTS,
    "apps.gateway.anthropic.errors.ANTHROPIC_ERRORS": "it keeps nothing",
    "apps.gateway.error_shape.OPENAI_ERRORS": "it keeps nothing",
    "apps.governance.metrics.TEXTS_ERASED": _COUNTED,
    "apps.governance.policies.expressions._compiled": _OF_ARGUMENTS,
    "apps.llm.chat._timeouts": _OF_ARGUMENTS,
    "apps.llm.http._headers": _OF_ARGUMENTS,
    "apps.llm.http._ssl_context": "certificates of the machine",
    "apps.llm.http._url": _OF_ARGUMENTS,
    "apps.llm.service_accounts._tokens": "by the digest of the key",
    "apps.planners.light.search.choices": _OF_ARGUMENTS,
    "apps.planners.prompt._instructions": _OF_ARGUMENTS,
    "apps.playground.templatetags.playground._row": _OF_ARGUMENTS,
    "apps.playground.texts.formulas._mathml": _OF_ARGUMENTS,
    "apps.playground.texts.markdown._kept": _OF_ARGUMENTS,
    "apps.pools.providers.known_providers.provider_tag": _OF_ARGUMENTS,
    "apps.pools.light_planners.loading._kept": "by the digest of what is kept",
    "apps.pools.services.server_status._flights": "nothing is under way",
    "apps.rest.attribute_fields._properties": _OF_CODE,
    "apps.rest.documentation.api_document": _OF_CODE,
    "apps.rest.documentation.api_document_30": _OF_CODE,
    "apps.rest.fields._shared_fields": _OF_CODE,
    "apps.rest.fields._ways_out": _OF_CODE,
    "apps.rest.pagination.page_output": _OF_CODE,
    "apps.runs.execution.executor._executor": _OF_A_SITE,
    "apps.runs.execution.live_run._jitter": _RANDOM,
    "apps.runs.execution.prompt_embedding._jitter": _RANDOM,
    "apps.runs.records.plan_shapes._shape_of": _OF_ARGUMENTS,
    "apps.runs.search.word_codes._keys": _OF_ARGUMENTS,
    "apps.runs.telemetry.metrics.CALLS": _COUNTED,
    "apps.runs.telemetry.metrics.CALL_SECONDS": _COUNTED,
    "apps.runs.telemetry.metrics.CLAIMED": _COUNTED,
    "apps.runs.telemetry.metrics.COST": _COUNTED,
    "apps.runs.telemetry.metrics.ENDED": _COUNTED,
    "apps.runs.telemetry.metrics.FAILURES": _COUNTED,
    "apps.runs.telemetry.metrics.FIRST_SECONDS": _COUNTED,
    "apps.runs.telemetry.metrics.LEASES_EXPIRED": _COUNTED,
    "apps.runs.telemetry.metrics.LEASES_LOST": _COUNTED,
    "apps.runs.telemetry.metrics.OVERHEAD": _COUNTED,
    "apps.runs.telemetry.metrics.OWNER_DEATHS": _COUNTED,
    "apps.runs.telemetry.metrics.PLANS": _COUNTED,
    "apps.runs.telemetry.metrics.QUEUED": _COUNTED,
    "apps.runs.telemetry.metrics.SECONDS": _COUNTED,
    "apps.runs.telemetry.metrics.STARTED": _COUNTED,
    "apps.runs.telemetry.metrics.STEPS": _COUNTED,
    "apps.runs.telemetry.metrics.TOKENS": _COUNTED,
    "apps.runs.telemetry.metrics.UNPRICED": _COUNTED,
    "apps.simulator.benchmark.expectations._oracle_plan": _OF_ARGUMENTS,
    "apps.simulator.benchmark.expectations.expected_score": _OF_ARGUMENTS,
    "apps.simulator.benchmark.tasks.recognise": _OF_ARGUMENTS,
    "apps.simulator.examples._by_prompt": _OF_CODE,
    "apps.simulator.examples.examples": _OF_CODE,
    "apps.simulator.families.solve": _OF_ARGUMENTS,
    "apps.simulator.families.split": _OF_ARGUMENTS,
    "apps.simulator.tiny_conductor.splitting._class": _OF_ARGUMENTS,
    "apps.simulator.tiny_conductor.splitting._pattern": _OF_CODE,
    "apps.simulator.tiny_conductor.splitting._unknown": _OF_CODE,
    "apps.web.documentation.library.doc_list": _OF_CODE,
    "apps.web.documentation.rendering.doc_html": _OF_ARGUMENTS,
    "apps.web.middleware._address": _OF_CODE,
    "apps.webhooks.sending._chance": _RANDOM,
    "conductor_site.asgi._entrance": _OF_A_LOOP,
    "conductor_site.asgi._known_teams": _OF_A_LOOP,
    "conductor_site.asgi._openings": _OF_A_LOOP,
    "conductor_site.asgi.batches": _OF_A_SITE,
    "conductor_site.asgi.django_application": _OF_A_LOOP,
    "conductor_site.asgi.pages": _OF_CODE,
    "conductor_site.pending_migrations.own_migrations": _OF_CODE,
    "conductor_site.postgresql.base._adapters": _OF_CODE,
    "conductor_site.runtime_tuning._spare_the_collector": "once for each process",
    "conductor_site.serving.static_files._joining_digest": _OF_CODE,
    "conductor_site.serving.static_files.static_files": _OF_CODE,
}
"""Objects that no test can notice, and why."""


def process_state_reset() -> None:
    """Let this process know nothing of the tests before.

    Nothing is imported for it: a module that is not there keeps nothing.
    """
    for name, reset in RESET.items():
        module, _, attribute = name.rpartition(".")
        if module in sys.modules:
            reset(getattr(sys.modules[module], attribute))
    for name in RESET_BY_CALL.values():
        module, _, attribute = name.rpartition(".")
        if module in sys.modules:
            getattr(sys.modules[module], attribute)()
    cache.clear()
