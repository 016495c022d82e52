"""Plans of the light planner's templates with random workers, to learn from.

Every worker does every kind of step, alone and with answers in sight, so that the step
model sees them all. Each six tasks get the six templates, in an order of their own: in
a fixed one a template could meet the same family again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from django.utils.translation import gettext_noop as _
from pydantic import Field

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PageChoice,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
)
from apps.planners.fixed import GivenPlanPlanner
from apps.planners.light.templates import TEMPLATES, Template, template_plan

MAX_PLANS = 50
"""Of one task; an evaluation has no more systems."""


class ExplorationSystem(BaseSystem):
    """One plan for each task; several systems of this kind give each task several."""

    short_form: ClassVar[str] = (
        "exploration[:PLANS] (so many plans for each task, to learn from)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "exploration",
            _(
                "Exploration: plans to learn from, on the training tasks; choose it "
                "alone"
            ),
            ("{plans}",),
        ),
    )
    kind: Literal["exploration"]
    plan: Annotated[int, Field(ge=1, le=MAX_PLANS)] = 1
    """Number of the plan among those of a task."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return one system, or as many as there are to be plans for each task."""
        match parts:
            case ["exploration"]:
                return [{"kind": "exploration"}]
            case ["exploration", count] if count.isdecimal() and int(count):
                # One too many is refused by its number, a million would be made first.
                plans = range(1, min(int(count), MAX_PLANS + 1) + 1)
                return [{"kind": "exploration", "plan": plan} for plan in plans]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return "exploration" + (f" (plan {self.plan})" if self.plan > 1 else "")

    @property
    def is_exploration(self) -> bool:
        """Say whether planners learn from its plans, so that it is no comparison."""
        return True

    @property
    def steps(self) -> int:
        """Return the steps of the longest template."""
        return max(map(len, TEMPLATES))

    def arrange(self, task: TaskContext) -> Arrangement:
        """Draw a worker for each step of the template whose turn it is."""
        chance = task.random(f"exploration {self.plan}")
        template = self._template(task)
        names = [worker.name for worker in task.workers]
        workers = tuple(chance.choice(names) for _ in template)
        return Arrangement(
            task.carrier,
            GivenPlanPlanner(template_plan(template, workers).steps),
            rounds=(RoundShape(len(template), workers),),
        )

    def _template(self, task: TaskContext) -> Template:
        group, turn = divmod(task.place, len(TEMPLATES))
        order = list(TEMPLATES)
        task.shared_random(f"templates {group}").shuffle(order)
        return order[(turn + self.plan - 1) % len(order)]
