"""Words for the last test of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from apps.console.ability_words import ABILITY_WORDS
from apps.engine.errors import PlanFault
from apps.pools.models import Conductor, ConductorMode, Worker
from apps.pools.selectors import last_test
from apps.pools.types import TestResult, TrialStep

_ADVICE = {
    "connect": gettext_noop(
        "Check the address, and that the server is running and reachable. If "
        "its network is not allowed, ask the operator of this site: the setting "
        "MODEL_NETWORKS allows it."
    ),
    "first_byte_timeout": gettext_noop(
        "The server is busy or loading the model. Try again, or "
        "allow more time under “More”."
    ),
    "idle_timeout": gettext_noop(
        "The answer fell silent. Try again, or allow more time."
    ),
    "total_timeout": gettext_noop(
        "The whole answer took too long. Try again, or allow more time."
    ),
    "rate_limited": gettext_noop(
        "The provider wants fewer calls. Wait a moment and try again."
    ),
    "server_error": gettext_noop(
        "The provider has trouble of its own. Try again later."
    ),
    "incomplete": gettext_noop(
        "The answer broke off. Try again; if it repeats, ask the provider."
    ),
    "bad_response": gettext_noop(
        "This is not what a server of that protocol says. Check the "
        "protocol and the address: it ends with the version path, such as /v1."
    ),
    "unusable_response": gettext_noop(
        "This answer cannot be read: it is a page, compressed or too long. Check the "
        "protocol and the address: it ends with the version path, such as /v1."
    ),
    "unauthorized": gettext_noop(
        "The provider refused the key. Choose or paste another one."
    ),
    "quota": gettext_noop("The provider's account is out of credit."),
    "not_found": gettext_noop(
        "No such model or path there. Check the address and the model."
    ),
    "bad_request": gettext_noop(
        "The provider refused the request. Another name for the output "
        "limit, under “More”, often helps."
    ),
    "content_filtered": gettext_noop(
        "The provider refused the test for its content. Try again, or ask the provider."
    ),
    "context_length": gettext_noop(
        "The model's context is too small for a test of a few words."
    ),
}
"""What to do, by the typed error of a test."""
_PLAN_ADVICE = {
    ConductorMode.LISTS: gettext_noop(
        "Few models write such lists unless they were trained to. "
        "Choose JSON schema under “How it writes plans”, or another model."
    ),
    ConductorMode.JSON_SCHEMA: gettext_noop(
        "Either the server does not support structured output, "
        "or the model cannot plan. Choose another model, or three lists under “How it "
        "writes plans”."
    ),
}
"""What to do about an answer that is not a plan, by how plans are written."""
_STATES = {
    (True, True): gettext_lazy("on"),
    (True, False): gettext_lazy("detected, but off"),
    (False, True): gettext_lazy("on, but not supported"),
    (False, False): gettext_lazy("not supported"),
}
"""The state of an ability: whether the test detected it, and whether it is set."""


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A step of the plan that a test read."""

    worker: str
    subtask: str
    reads: str
    """That it would read answers of other steps, in words. Empty: of none."""


@dataclass(frozen=True, slots=True)
class AbilityLine:
    """What a test says of one ability, beside how it is set."""

    name: str
    state: str
    """In words."""
    is_as_set: bool


@dataclass(frozen=True, slots=True)
class TestLine:
    """The last test of a model, and what to do about it."""

    __test__ = False

    result: TestResult
    advice: str
    """Empty: nothing, or nothing we know of."""
    abilities: tuple[AbilityLine, ...]
    """What it can do, as it showed. Empty: that was not tried."""
    lacks_what_it_needs: bool
    """A conductor does not support what it is set to need."""
    worker_id: UUID | None
    """The worker whose abilities can be set as detected. None: they are."""
    plan: tuple[PlanLine, ...] = ()
    """What a conductor planned. Empty: it is a worker, or there is no plan."""


def test_line(model: Worker | Conductor) -> TestLine | None:
    """Return the last test of a model for people; None: it was never tested."""
    result = last_test(model)
    if result is None:
        return None
    abilities = tuple(_abilities(model, result))
    is_worker = isinstance(model, Worker)
    is_as_set = all(each.is_as_set for each in abilities)
    return TestLine(
        result=result,
        advice=_advice(model, result),
        abilities=abilities,
        lacks_what_it_needs=not is_worker and not is_as_set,
        worker_id=model.id if is_worker and not is_as_set else None,
        plan=tuple(PlanLine(s.worker, s.subtask, _reads(s)) for s in result.plan),
    )


def advice_on(error_code: str) -> str:
    """Return what to do about a typed error; empty: nothing we know of."""
    return _(_ADVICE.get(error_code, ""))


def _reads(step: TrialStep) -> str:
    numbers = ", ".join(str(index + 1) for index in step.access)
    text = ngettext(
        "reads step %(numbers)s", "reads steps %(numbers)s", len(step.access)
    )
    return text % {"numbers": numbers} if numbers else ""


def _advice(model: Worker | Conductor, result: TestResult) -> str:
    code = result.error_code
    if code == PlanFault.TRUNCATED:
        return _("Allow a longer plan under “More”, or choose another model.")
    if isinstance(model, Conductor) and code in set(PlanFault):
        return _(_PLAN_ADVICE[ConductorMode(model.mode)])
    return advice_on(code)


def _abilities(model: Worker | Conductor, result: TestResult) -> Iterator[AbilityLine]:
    # In this order always: PostgreSQL has its own for what is stored as JSON.
    for ability, words in ABILITY_WORDS.items():
        if ability not in result.abilities:
            continue
        has, is_set = result.abilities[ability], _is_set(model, ability)
        yield AbilityLine(str(words.name), str(_STATES[has, is_set]), has == is_set)


def _is_set(model: Worker | Conductor, ability: str) -> bool:
    # A conductor is asked only for what it is set to need.
    return bool(getattr(model, ability)) if isinstance(model, Worker) else True
