"""Traces of real runs, as a collector gets them."""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import openai
import pytest
from django.core.exceptions import ImproperlyConfigured
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from apps.runs.models import Run
from apps.runs.telemetry.tracing import open_tracing
from conductor_site.asgi import application
from conductor_site.checks import check_traces
from conductor_site.serving.uvicorn_protocol import JoiningProtocol
from tests.conftest import Cast, add_worker, make_pool
from tests.observing.collector import Collector, collecting, facts
from tests.serving import serving

QUESTION = "What is 17 * 23 + 4?"


@pytest.fixture
def collector(settings: Any) -> Iterator[Collector]:
    with collecting() as collector:
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
        yield collector


def ask(
    cast: Cast,
    simulator_url: str,
    model: str,
    text: str = QUESTION,
    workers: tuple[str, ...] = (),
) -> Run:
    """Ask a site that then closes, so that everything has been exported."""
    make_pool(cast.team, simulator_url)
    for worker in workers:
        add_worker(cast.team, simulator_url, worker)
    with (
        serving(application, http=JoiningProtocol) as url,
        openai.OpenAI(
            base_url=f"{url}/v1", api_key=cast.key.secret, max_retries=0
        ) as client,
    ):
        messages: Any = [{"role": "user", "content": text}]
        with suppress(openai.APIError):
            client.chat.completions.create(model=model, messages=messages)
    return Run.objects.for_team(cast.team.id).get()


def root_of(spans: list[Any]) -> Any:
    (root,) = [span for span in spans if not span.parent_span_id]
    return root


def test_a_run_is_one_trace_whose_id_is_the_runs(cast, simulator_url, collector):
    run = ask(cast, simulator_url, "conductor-ultra")
    ids = {uuid.UUID(bytes=span.trace_id) for span in collector.spans}
    assert ids == {run.id}
    assert collector.services == {"conductor"}


def test_every_call_is_a_span_below_the_run(cast, simulator_url, collector):
    run = ask(cast, simulator_url, "conductor-ultra")
    root = root_of(collector.spans)
    calls = [s for s in collector.spans if s.span_id != root.span_id]
    assert all(span.parent_span_id == root.span_id for span in calls)
    roles = Counter(facts(span)["conductor.role"] for span in calls)
    assert roles["worker"] == run.steps_done
    assert roles["conductor"] >= 1


def test_spans_have_the_conventions_attributes(cast, simulator_url, collector):
    run = ask(cast, simulator_url, "conductor-ultra")
    root = facts(root_of(collector.spans))
    assert root["gen_ai.operation.name"] == "invoke_agent"
    assert root["gen_ai.request.model"] == "conductor-ultra"
    assert root["gen_ai.usage.input_tokens"] == run.prompt_tokens
    assert root["gen_ai.usage.output_tokens"] == run.completion_tokens
    assert root["conductor.cost_micros"] == run.cost_micros
    call = next(
        span
        for span in collector.spans
        if facts(span).get("conductor.role") == "worker"
    )
    told = facts(call)
    assert call.name == f"chat {told['gen_ai.request.model']}"
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "openai"
    assert told["gen_ai.response.finish_reasons"] == ["stop"]
    assert told["gen_ai.usage.output_tokens"] > 0
    assert told["server.address"] == "127.0.0.1"
    assert call.end_time_unix_nano >= call.start_time_unix_nano


def test_all_gen_ai_names_are_the_conventions_own(cast, simulator_url, collector):
    ask(cast, simulator_url, "conductor-ultra")
    known = {v for v in vars(gen_ai_attributes).values() if isinstance(v, str)}
    used = {
        name
        for span in collector.spans
        for name in facts(span)
        if name.startswith("gen_ai.")
    }
    assert len(used) > 6
    assert used <= known


def test_a_failed_call_says_its_fault(cast, simulator_url, collector):
    ask(cast, simulator_url, "worker/fault-401", workers=("fault-401",))
    root = root_of(collector.spans)
    (call,) = [s for s in collector.spans if s.span_id != root.span_id]
    assert facts(call)["error.type"] == "unauthorized"
    assert facts(root)["error.type"] == "worker_failed"
    assert facts(root)["conductor.outcome"] == "failed"
    assert (call.status.code, call.status.message) == (2, "")


def test_no_content_is_exported(cast, simulator_url, collector):
    canary = "zanzibar-4711"
    run = ask(cast, simulator_url, "conductor-ultra", f"{QUESTION} {canary}")
    assert run.state == "completed"
    assert collector.spans
    exported = b"".join(collector.bodies)
    for text in (canary, "17 * 23", cast.key.secret, "Orchestra"):
        assert text.encode() not in exported


def test_nothing_is_traced_unless_somebody_collects(settings):
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = ""
    assert open_tracing() is None


def test_missing_packages_are_named(settings, monkeypatch):
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318"
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ImproperlyConfigured, match="OTEL_EXPORTER_OTLP_ENDPOINT: "):
        open_tracing()
    (fault,) = check_traces()
    assert "requirements/otel.txt" in fault.msg


def test_nothing_is_missing_where_the_packages_are(settings):
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318"
    assert check_traces() == []
