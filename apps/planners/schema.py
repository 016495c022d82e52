"""Plans as JSON, for servers that can hold a model to a schema.

A schema cannot say "earlier steps only", and some servers ignore it without an error.
So everything is checked again here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import Plan, PlannedStep
from apps.engine.text import without_fences
from apps.planners.escaping import clean, shorten
from apps.planners.list_scanner import MAX_CHARS
from apps.planners.plan_references import (
    all_earlier,
    check_count,
    earlier_steps,
    worker_name,
)

_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)


class PlannedStepReply(BaseModel):
    """One step as the conductor writes it."""

    model_config = _STRICT
    subtask: str
    worker: int
    access: Literal["all"] | list[int]


class PlanReply(BaseModel):
    """A whole reply of the conductor."""

    model_config = _STRICT
    reasoning: str
    steps: list[PlannedStepReply]


class DelegatingReply(PlanReply):
    """A whole reply of a conductor whose last step may plan the rest."""

    plans_rest: bool = False


def response_format(
    *, workers: int, max_steps: int, may_keep: bool, may_delegate: bool = False
) -> Mapping[str, Any]:
    """Return the `response_format` that makes a server answer with a plan.

    Reasoning comes first because a model writes in the order of the schema. Strings
    have no length limits: with them one common back end lets control characters in.
    """
    earlier = list(range(max(max_steps - 1, 1)))
    step = _object(
        subtask={"type": "string"},
        worker={"type": "integer", "enum": list(range(workers))},
        access={
            "anyOf": [
                {"type": "string", "enum": ["all"]},
                {
                    "type": "array",
                    "items": {"type": "integer", "enum": earlier},
                    "maxItems": len(earlier),  # none needs more; some never end
                },
            ]
        },
    )
    steps = {
        "type": "array",
        "items": step,
        "minItems": 0 if may_keep else 1,
        "maxItems": max_steps,
    }
    beside = {"plans_rest": {"type": "boolean"}} if may_delegate else {}
    schema = _object(reasoning={"type": "string"}, steps=steps, **beside)
    return {
        "type": "json_schema",
        "json_schema": {"name": "plan", "strict": True, "schema": schema},
    }


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_json(
    text: str, workers: Sequence[str], *, may_delegate: bool = False
) -> Plan | None:
    """Return the plan in `text`, or None for a plan without steps (keep the answer).

    `may_delegate`: it may say that its last step plans the rest.
    Raises: PlanRejected.
    """
    reply = _reply(text, DelegatingReply if may_delegate else PlanReply)
    if not reply.steps:
        return None
    check_count(len(reply.steps))
    steps = tuple(_step(i, step, workers) for i, step in enumerate(reply.steps))
    plans_rest = isinstance(reply, DelegatingReply) and reply.plans_rest
    return Plan(steps, clean(reply.reasoning).strip(), plans_rest=plans_rest)


def _reply(text: str, shape: type[PlanReply]) -> PlanReply:
    if len(text) > MAX_CHARS:
        message = f"the answer is longer than {MAX_CHARS} characters"
        raise PlanRejected(PlanFault.UNPARSEABLE, message)
    try:
        # Not strict: some servers let raw line breaks into strings.
        bare = without_fences(text)
        return shape.model_validate(json.loads(bare, strict=False))
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        place = shorten(".".join(str(part) for part in first["loc"]), 60)
        message = f"the answer breaks the schema at {place!r}: {first['msg']}"
        raise PlanRejected(PlanFault.UNPARSEABLE, message) from exc
    except (ValueError, RecursionError) as exc:
        raise PlanRejected(PlanFault.UNPARSEABLE, "the answer is no JSON") from exc


def _step(index: int, reply: PlannedStepReply, workers: Sequence[str]) -> PlannedStep:
    subtask = clean(reply.subtask).strip()
    if not subtask:
        raise PlanRejected(PlanFault.EMPTY_SUBTASK, f"step {index} has no subtask")
    access = (
        all_earlier(index)
        if reply.access == "all"
        else earlier_steps(index, reply.access)
    )
    return PlannedStep(subtask, worker_name(index, reply.worker, workers), access)
