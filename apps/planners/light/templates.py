"""The shapes of plan that the light planner chooses from, and the words of their steps.

Source of the shapes: learned plans of arXiv 2512.04388 are mostly of one to four steps;
these are one answer, independent answers that are combined, a draft that is checked,
and a plan before the answer. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from apps.engine.plan import Plan, PlannedStep
from apps.planners.fixed import AGGREGATION, FIRST_ATTEMPT, REFLECTION
from apps.planners.light.logged_runs import StepRole

OUTLINE = "Plan how to answer the user's question, without the answer itself."
SUBTASKS: Mapping[StepRole, str] = {
    StepRole.PLAN: OUTLINE,
    StepRole.SOLVE: FIRST_ATTEMPT,
    StepRole.CHECK: REFLECTION,
    StepRole.COMBINE: AGGREGATION,
}
"""What a step of each role is asked; `role_of_subtask` reads the roles back."""


class TemplateStep(NamedTuple):
    """One step of a template: its role, and the earlier steps that it reads."""

    role: StepRole
    access: tuple[int, ...] = ()


Template = tuple[TemplateStep, ...]
_PLAN = TemplateStep(StepRole.PLAN)
_SOLVE = TemplateStep(StepRole.SOLVE)

ONE: Template = (_SOLVE,)
TWO_COMBINED: Template = (_SOLVE, _SOLVE, TemplateStep(StepRole.COMBINE, (0, 1)))
CHECKED: Template = (_SOLVE, TemplateStep(StepRole.CHECK, (0,)))
PLANNED: Template = (_PLAN, TemplateStep(StepRole.SOLVE, (0,)))
PLANNED_CHECKED: Template = (*PLANNED, TemplateStep(StepRole.CHECK, (0, 1)))
THREE_COMBINED: Template = (
    _SOLVE,
    _SOLVE,
    _SOLVE,
    TemplateStep(StepRole.COMBINE, (0, 1, 2)),
)
TEMPLATES = (
    ONE,
    TWO_COMBINED,
    CHECKED,
    PLANNED,
    PLANNED_CHECKED,
    THREE_COMBINED,
)


def template_plan(
    template: Template,
    workers: Sequence[str],
    reasoning: str = "",
    explanation: str = "",
) -> Plan:
    """Return the plan of a template with one worker for each of its steps."""
    steps = (
        PlannedStep(SUBTASKS[step.role], worker, step.access)
        for step, worker in zip(template, workers, strict=True)
    )
    return Plan(tuple(steps), reasoning, explanation)
