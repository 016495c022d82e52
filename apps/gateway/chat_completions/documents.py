"""Serializes a finished run: completion, usage, the `conductor` object.

Sums cover the conductor's own calls and every attempt of every step, failed ones
included. Money is a decimal text with six places; null says that a price is unknown.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings

from apps.engine.events import RunCompleted
from apps.engine.usage import Cost
from apps.gateway.tool_calls import with_ids
from apps.runs.types import RunSummary, StepSummary

FINISH_REASONS = frozenset({"stop", "length", "tool_calls", "content_filter"})


def cost_text(micros: int) -> str:
    """Return micro-dollars as dollars, exactly."""
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def finish_reason(end: RunCompleted) -> str:
    """Return a reason that every client knows."""
    return end.finish_reason if end.finish_reason in FINISH_REASONS else "stop"


def usage_document(summary: RunSummary) -> dict[str, Any]:
    """Return the `usage` object: all tokens of the run, and the conductor's part."""
    usage = summary.end.usage
    orchestration = summary.orchestration_usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "orchestration_input_tokens": orchestration.prompt_tokens,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "orchestration_output_tokens": orchestration.completion_tokens,
        },
    }


def run_link(run_id: uuid.UUID) -> dict[str, Any]:
    """Return the `conductor` object of a run that goes on."""
    return {"run_id": str(run_id), "url": f"{settings.CONDUCTOR_URL}/runs/{run_id}/"}


def conductor_document(summary: RunSummary) -> dict[str, Any]:
    """Return the `conductor` object: who did what, for how much, and where to look."""
    end = summary.end
    return {
        **run_link(summary.run_id),
        "planner": summary.planner,
        "worker": summary.worker or None,
        "steps": [_step_document(step) for step in summary.steps],
        "orchestration": {
            "prompt_tokens": summary.orchestration_usage.prompt_tokens,
            "completion_tokens": summary.orchestration_usage.completion_tokens,
            "cost_usd": _known_cost(summary.orchestration_cost),
        },
        "cost_usd": cost_text(end.cost_micros),
        "has_unknown_cost": end.has_unknown_cost,
        "has_estimated_usage": summary.has_estimated_usage,
        "latency_ms": end.latency_ms,
        "overhead_ms": end.overhead_ms,
    }


def created_of(run_id: uuid.UUID) -> int:
    """Return when a run began, in whole seconds; its id says so (RFC 9562)."""
    return (run_id.int >> 80) // 1000


def completion_document(
    summary: RunSummary, end: RunCompleted, *, model: str
) -> dict[str, Any]:
    """Return the body of a chat completion that was not streamed."""
    calls = with_ids(end.tool_calls, summary.run_id)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": end.answer or None if calls or end.refusal else end.answer,
        "refusal": end.refusal or None,
    }
    if calls:
        message["tool_calls"] = calls
    return {
        "id": f"chatcmpl-{summary.run_id.hex}",
        "object": "chat.completion",
        "created": created_of(summary.run_id),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": finish_reason(end),
            }
        ],
        "usage": usage_document(summary),
        "conductor": conductor_document(summary),
    }


def _step_document(step: StepSummary) -> dict[str, Any]:
    return {
        "round": step.round,
        "index": step.index,
        "worker": step.worker,
        "subtask": step.subtask,
        "access": step.access,
        "state": step.state,
        "attempts": step.attempts,
        "prompt_tokens": step.usage.prompt_tokens,
        "completion_tokens": step.usage.completion_tokens,
        "cost_usd": _known_cost(step.cost),
        "latency_ms": step.latency_ms,
    }


def _known_cost(cost: Cost) -> str | None:
    return None if cost.has_unknown else cost_text(cost.micros)
