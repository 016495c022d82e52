"""Plans as people send them: read, checked, stored while they wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

import orjson
from pydantic import Field, StringConstraints

from apps.core.errors import InvalidFields
from apps.core.input_parts import InputPart, values_read
from apps.engine.errors import PlanRejected
from apps.engine.plan import Plan, PlannedStep, validate

MAX_STEPS = 50
"""More are refused before anything is checked. Pools allow fewer."""
SUBTASK_LENGTH = 20_000


class EditedStep(InputPart):
    """One step of a plan."""

    worker: Annotated[str, Field(min_length=1, max_length=100)]
    subtask: Annotated[
        str,
        StringConstraints(
            strip_whitespace=True, min_length=1, max_length=SUBTASK_LENGTH
        ),
    ]
    access: Annotated[tuple[int, ...], Field(max_length=MAX_STEPS)] = ()
    """The earlier steps it may read, counted from 0."""


class EditedPlan(InputPart):
    """A plan; the last step answers."""

    steps: Annotated[tuple[EditedStep, ...], Field(min_length=1, max_length=MAX_STEPS)]


def plan_read(
    values: Mapping[str, Any],
    *,
    workers: Collection[str],
    max_steps: int,
    plans_rest: bool,
) -> Plan:
    """Return a plan that a person sent, by the rules that hold for the conductor.

    `plans_rest`: the last step of the plan in whose place it comes plans the rest. Then
    that of this one does too: nobody makes a planner of an answering step, or the
    reverse.

    Raises: InvalidFields.
    """
    given = values_read(EditedPlan, values)
    steps = tuple(
        PlannedStep(step.subtask, step.worker, tuple(sorted(set(step.access))))
        for step in given.steps
    )
    plan = Plan(steps, plans_rest=plans_rest)
    try:
        validate(plan, workers=workers, max_steps=max_steps, may_delegate=plans_rest)
    except PlanRejected as error:
        message = error.message
    else:
        return plan
    raise InvalidFields({"plan": [message]})


def plan_values(plan: Plan) -> dict[str, Any]:
    """Return a plan as `plan_read` takes it."""
    steps = [
        {"worker": s.worker, "subtask": s.subtask, "access": list(s.access)}
        for s in plan.steps
    ]
    return {"steps": steps}


def plan_stored(plan: Plan) -> str:
    """Return a plan as the text that is stored while it waits."""
    stored = {**plan_values(plan), "plans_rest": plan.plans_rest}
    return orjson.dumps(stored).decode()


def plan_of_stored(text: str) -> Plan | None:
    """Return a stored plan; None of an empty text: nobody changed the plan."""
    if not text:
        return None
    values = orjson.loads(text)
    steps = tuple(
        PlannedStep(s["subtask"], s["worker"], tuple(s["access"]))
        for s in values["steps"]
    )
    return Plan(steps, plans_rest=values.get("plans_rest", False))
