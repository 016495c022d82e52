"""Traces of runs for an OpenTelemetry collector, made from their durable events.

One trace for each run, whose id is the run's: a span for the run and one for each call
of a model, with the attributes of the GenAI conventions and never a word of content.
Needs `requirements/otel.txt`; on only where OTEL_EXPORTER_OTLP_ENDPOINT is set.
Source: OpenTelemetry semantic conventions for generative AI, spans of agents and calls.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from apps.engine import events as ev
from apps.engine.ports import CONDUCTOR, Progress
from apps.llm.types import Endpoint
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import CallKey, RunOrder, Signal

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

AGENT = "conductor"
PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}
"""What the conventions call the protocols of workers."""
LOST = "unknown"
"""Why a call ended whose end this process has not seen."""
CLOSE_MS = 5_000
"""How long closing waits for the collector."""


class Tracing:
    """Traces the runs of one process."""

    def __init__(self, provider: TracerProvider, ids: RunIds) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("apps.runs")
        self._ids = ids

    def follow(
        self,
        run_id: uuid.UUID,
        order: RunOrder,
        resolved: ResolvedModel,
        is_resumed: bool,
    ) -> RunTrace:
        """Begin the trace of a run."""
        self._ids.next_trace = run_id.int
        return RunTrace(self._tracer, run_id, order, resolved, is_resumed)

    def close(self) -> None:
        """Send what has not been sent. Blocks; not for the event loop."""
        self._provider.force_flush(CLOSE_MS)
        self._provider.shutdown()


class RunTrace:
    """The spans of one run. A listener; pieces of text cost it a glance."""

    def __init__(
        self,
        tracer: Tracer,
        run_id: uuid.UUID,
        order: RunOrder,
        resolved: ResolvedModel,
        is_resumed: bool,
    ) -> None:
        from opentelemetry import context, trace

        self._tracer = tracer
        self._endpoints = resolved.endpoints
        self._calls: dict[CallKey, tuple[Span, int]] = {}
        """Open calls, and when they began, in nanoseconds."""
        self._root = tracer.start_span(
            f"invoke_agent {AGENT}",
            context.Context(),  # no parent, whatever else is traced here
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": AGENT,
                "gen_ai.provider.name": AGENT,
                "gen_ai.request.model": order.model,
                "conductor.run_id": str(run_id),
                "conductor.team_id": str(order.team_id),
                "conductor.tier": resolved.tier,
                "conductor.is_resumed": is_resumed,
            },
        )
        self._context = trace.set_span_in_context(self._root, context.Context())

    def hear(self, signal: Signal) -> None:
        """Turn an event into the beginning or end of a span."""
        if isinstance(signal, Progress):  # one for each token: no look at every case
            return
        match signal:
            case ev.StepStarted():
                called = (signal.round, signal.step, signal.attempt)
                self._begin(called, self._endpoints.get(signal.worker))
            case ev.PlanRequested():
                asked = (signal.round, None, signal.attempt)
                self._begin(asked, self._endpoints.get(signal.embedder or CONDUCTOR))
            case ev.StepCompleted() | ev.StepAttemptFailed():
                self._end((signal.round, signal.step, signal.attempt), signal)
            case ev.PlanReplied() | ev.PlanCallFailed():
                self._end((signal.round, None, signal.attempt), signal)
            case ev.PlanAccepted():
                facts = {"planner": signal.planner, "steps": len(signal.workers)}
                self._root.add_event(signal.action, _own(round=signal.round, **facts))
            case ev.PlanRejectedEvent():
                facts = {"fault": signal.fault}
                self._root.add_event(signal.action, _own(round=signal.round, **facts))
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                self._close(signal)
            case _:
                pass

    def leave(self) -> None:
        """End what is open: the run goes on elsewhere, or not at all."""
        for place in list(self._calls):
            self._fail(self._calls.pop(place)[0], LOST)
        if self._root.is_recording():
            self._root.set_attribute("conductor.outcome", "interrupted")
            self._root.end()

    def _begin(self, place: CallKey, endpoint: Endpoint | None) -> None:
        from opentelemetry.trace import SpanKind

        if endpoint is None:
            return
        round_, step, attempt = place
        facts = {"round": round_, "attempt": attempt, "role": "worker"}
        facts |= {"role": "conductor"} if step is None else {"step": step}
        address = urlsplit(endpoint.base_url)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": PROVIDERS[endpoint.protocol],
            "gen_ai.request.model": endpoint.model,
            "server.address": address.hostname or "",
            **_own(**facts),
        }
        if address.port is not None:
            attributes["server.port"] = address.port
        began = time.time_ns()
        span = self._tracer.start_span(
            f"chat {endpoint.model}",
            self._context,
            SpanKind.CLIENT,
            attributes,
            start_time=began,
        )
        self._calls[place] = span, began

    def _end(self, place: CallKey, event: ev.CallOutcome) -> None:
        span, began = self._calls.pop(place, (None, 0))
        if span is None:
            return
        span.set_attributes(_spent(event))
        if isinstance(event, ev.StepCompleted | ev.PlanReplied):
            span.set_attribute("gen_ai.response.model", event.model)
            span.set_attribute("gen_ai.response.finish_reasons", (event.finish_reason,))
        first_ms = getattr(event, "first_token_ms", None)
        if first_ms is not None:
            name = "gen_ai.response.time_to_first_chunk"
            span.set_attribute(name, first_ms / 1000)
        ended = began + event.latency_ms * 1_000_000
        if isinstance(event, ev.StepAttemptFailed | ev.PlanCallFailed):
            self._fail(span, event.fault, ended)
        else:
            span.end(ended)

    def _close(self, event: ev.RunEnd) -> None:
        for place in list(self._calls):
            self._fail(self._calls.pop(place)[0], LOST)
        self._root.set_attributes(_spent(event))
        facts = {"outcome": event.action[4:], "overhead_ms": event.overhead_ms}
        self._root.set_attributes(_own(**facts))
        if isinstance(event, ev.RunFailed):
            self._fail(self._root, event.code)
        else:
            self._root.end()

    @staticmethod
    def _fail(span: Span, why: str, ended: int | None = None) -> None:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", why)
        span.set_status(Status(StatusCode.ERROR))  # its message might quote content
        span.end(ended)


def _spent(event: Any) -> Mapping[str, Any]:
    facts = {
        "gen_ai.usage.input_tokens": event.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": event.usage.completion_tokens,
    }
    if event.cost_micros is not None:
        facts["conductor.cost_micros"] = event.cost_micros
    return facts


def _own(**facts: Any) -> dict[str, Any]:
    """Return facts that the conventions have no name for, under ours."""
    return {f"conductor.{name}": value for name, value in facts.items()}


def check_packages() -> None:
    """Raise ImproperlyConfigured if traces are wanted and cannot be made."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError as exc:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT: traces need the packages of "
            "requirements/otel.txt; install them, or unset it"
        ) from exc


def open_tracing() -> Tracing | None:
    """Return the tracer of runs; None if traces are not collected.

    Raises: ImproperlyConfigured if the packages for it are not installed.
    """
    endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT.rstrip("/")
    if not endpoint:
        return None
    check_packages()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create(
        {
            "service.name": settings.OTEL_SERVICE_NAME,
            "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
        }
    )
    ids = RunIds()
    provider = TracerProvider(
        resource=resource,
        id_generator=ids,  # type: ignore[arg-type]  # by its shape
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider, ids)


class RunIds:
    """Ids of traces that are those of runs. Has the shape of the SDK's IdGenerator."""

    def __init__(self) -> None:
        self.next_trace = 0
        """Set right before a root span is started, on the one event loop."""

    def generate_trace_id(self) -> int:
        """Return the id of the run whose trace begins."""
        return self.next_trace

    def generate_span_id(self) -> int:
        """Return a random id."""
        return int.from_bytes(os.urandom(8)) or 1

    def is_trace_id_random(self) -> bool:
        """Say that ids are no plain random numbers: they begin with the time."""
        return False
