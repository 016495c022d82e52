"""A response as a document, whatever its state: new, running, ended or from the record.

What it says of its request comes from what the run was started with, so a response
that is read again years later says the same. Usage and costs: as in
`apps.gateway.chat_completions.documents`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from apps.engine.events import RunCancelled, RunCompleted
from apps.engine.messages import text_of
from apps.engine.ports import CallParams, Messages
from apps.engine.usage import Usage
from apps.gateway.chat_completions.documents import (
    conductor_document,
    created_of,
    finish_reason,
    run_link,
)
from apps.gateway.errors import ApiFailure, failure_of_run
from apps.gateway.output import COMPLETED, IN_PROGRESS, INCOMPLETE
from apps.gateway.reasoning_progress import shorten
from apps.gateway.responses.ids import (
    CALL,
    MESSAGE,
    REASONING,
    item_id,
    response_id,
)
from apps.gateway.responses.items import (
    Document,
    call_document,
    message_document,
    reasoning_document,
)
from apps.gateway.responses.tools import told_choice, told_format, told_tools
from apps.gateway.tool_calls import with_ids
from apps.runs.planning.model_resolver import is_direct
from apps.runs.types import RunSummary, StepSummary, WaitsFor

FAILED, CANCELLED = "failed", "cancelled"
WHY_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""`incomplete_details.reason` by the reason for which the last worker stopped."""
STEP_ENDS = {"failed": "failed", "skipped": "skipped", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class Origin:
    """What a response was asked with."""

    run_id: uuid.UUID
    model: str
    messages: Messages
    params: Mapping[str, Any]
    """By the names of `CallParams`; what is absent was not given."""
    echo: Mapping[str, Any]
    """The fields of the request that have no place among the parameters."""

    @property
    def instructions(self) -> str | None:
        """Return the request's own system message; it opens the conversation."""
        if not self.echo.get("has_instructions"):
            return None
        return text_of(self.messages[0])

    @property
    def is_direct(self) -> bool:
        """Tell whether one worker was called without a plan."""
        return is_direct(self.model)


def given_params(params: CallParams) -> dict[str, Any]:
    """Return parameters by their names."""
    return {field.name: getattr(params, field.name) for field in fields(params)}


def running_document(origin: Origin, waits_for: WaitsFor | None = None) -> Document:
    """Return a response whose run goes on, or waits for people."""
    conductor = {**run_link(origin.run_id), "waits_for": waits_for}
    return {**_request_fields(origin), **_state(IN_PROGRESS), "conductor": conductor}


def ended_document(
    origin: Origin, summary: RunSummary, output: Sequence[Document] | None = None
) -> Document:
    """Return a response whose run has ended.

    `output`: the items as they were streamed. None: build them from the record.
    """
    end = summary.end
    status = status_of(summary)
    failure = None if isinstance(end, RunCompleted) else failure_of_run(end)
    return {
        **_request_fields(origin),
        **_state(status),
        "completed_at": (
            created_of(origin.run_id) + end.latency_ms // 1000
            if status == COMPLETED
            else None
        ),
        "error": None if failure is None else error_document(failure),
        "incomplete_details": (
            {"reason": WHY_INCOMPLETE[end.finish_reason]}
            if isinstance(end, RunCompleted) and status == INCOMPLETE
            else None
        ),
        "output": output_documents(origin, summary) if output is None else output,
        "usage": usage_document(end.usage, summary.orchestration_usage),
        "conductor": conductor_document(summary),
    }


def broken_document(
    origin: Origin, failure: ApiFailure, output: Sequence[Document]
) -> Document:
    """Return a response that failed for a reason which is not on record."""
    document = running_document(origin)
    changes = {"status": FAILED, "error": error_document(failure), "output": output}
    return {**document, **changes}


def status_of(summary: RunSummary) -> str:
    """Return the word for how a run ended."""
    end = summary.end
    if isinstance(end, RunCompleted):
        is_cut = finish_reason(end) in WHY_INCOMPLETE
        return INCOMPLETE if is_cut else COMPLETED
    return CANCELLED if isinstance(end, RunCancelled) else FAILED


def error_document(failure: ApiFailure) -> Document:
    """Return why there is no answer."""
    return {"code": failure.code, "message": failure.message}


def usage_document(usage: Usage, orchestration: Usage) -> Document:
    """Return all tokens of a run, and the conductor's part of them."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": 0,
            "orchestration_input_tokens": orchestration.prompt_tokens,
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "orchestration_output_tokens": orchestration.completion_tokens,
        },
        "total_tokens": usage.total_tokens,
    }


def output_documents(origin: Origin, summary: RunSummary) -> list[Document]:
    """Return the items of an ended run: its steps, its answer, its tool calls."""
    run_id, end = origin.run_id, summary.end
    output: list[Document] = []
    if not origin.is_direct and (steps := steps_text(summary.steps)):
        output.append(reasoning_document(item_id(REASONING, run_id), steps))
    if not isinstance(end, RunCompleted):
        return output
    calls = with_ids(end.tool_calls, run_id)
    if end.said or not calls:
        message = message_document(
            item_id(MESSAGE, run_id), end.answer, status_of(summary), end.refusal
        )
        output.append(message)
    output += [
        call_document(
            item_id(CALL, run_id, number),
            call["id"],
            call["function"]["name"],
            call["function"]["arguments"],
        )
        for number, call in enumerate(calls)
    ]
    return output


def steps_text(steps: Sequence[StepSummary]) -> str:
    """Return one line for each step: who did what, and how it ended."""
    totals: dict[int, int] = {}
    for step in steps:
        totals[step.round] = totals.get(step.round, 0) + 1
    return "".join(_step_line(step, totals[step.round]) for step in steps)


def _step_line(step: StepSummary, total: int) -> str:
    took = f"done in {step.latency_ms / 1000:.1f} s"
    end = STEP_ENDS.get(step.state, took)
    what = f" {shorten(step.subtask)}" if step.subtask else ""
    return f"[{step.index + 1}/{total}]{what} → {step.worker}: {end}\n"


def _request_fields(origin: Origin) -> Document:
    params, echo = origin.params, origin.echo
    parallel = params.get("parallel_tool_calls")
    return {
        "id": response_id(origin.run_id),
        "object": "response",
        "created_at": created_of(origin.run_id),
        "model": origin.model,
        "background": bool(echo.get("background")),
        "instructions": origin.instructions,
        "max_output_tokens": params.get("max_tokens"),
        "max_tool_calls": None,
        "metadata": echo.get("metadata") or {},
        "parallel_tool_calls": True if parallel is None else parallel,
        "previous_response_id": echo.get("previous_response_id"),
        "reasoning": echo.get("reasoning") or {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": params.get("temperature"),
        "text": {"format": told_format(params.get("response_format"))},
        "tool_choice": told_choice(params.get("tool_choice")),
        "tools": told_tools(params.get("tools") or ()),
        "top_logprobs": 0,
        "top_p": params.get("top_p"),
        "truncation": "auto",
        "user": echo.get("user"),
    }


def _state(status: str) -> Document:
    return {
        "status": status,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
