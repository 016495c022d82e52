"""A valid plan by chance: what planning is worth is measured against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from django.utils.translation import gettext_noop as _
from pydantic import Field

from apps.engine.plan import PlannedStep
from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PageChoice,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
)
from apps.planners.fixed import (
    AGGREGATION,
    FIRST_ATTEMPT,
    REFLECTION,
    GivenPlanPlanner,
)

OUTLINE = "Plan how to answer the user's question, without the answer itself."
BLIND = (FIRST_ATTEMPT, OUTLINE)
READING = (FIRST_ATTEMPT, REFLECTION, AGGREGATION)
STEPS = 5


class RandomPlanSystem(BaseSystem):
    """Steps, workers and access lists are drawn, the same for the same seed."""

    short_form: ClassVar[str] = "random-plan"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice("random-plan", _("Random plan"), is_usual=True),
    )

    kind: Literal["random_plan"]
    max_steps: Annotated[int, Field(ge=1, le=10)] = STEPS

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return random plans."""
        return [{"kind": "random_plan"}] if list(parts) == ["random-plan"] else None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        limit = self.max_steps
        return "random plan" + (f" (up to {limit} steps)" if limit != STEPS else "")

    @property
    def steps(self) -> int:
        """Return the steps that its plan has, at least."""
        return 1

    def arrange(self, task: TaskContext) -> Arrangement:
        """Draw a plan; the last step always answers."""
        chance = task.random("plan")
        names = [worker.name for worker in task.workers]
        count = chance.randint(1, min(self.max_steps, task.max_steps))
        steps = []
        for index in range(count):
            access = tuple(n for n in range(index) if chance.random() < 0.5)
            is_last = index == count - 1
            subtasks = READING if access else (FIRST_ATTEMPT,) if is_last else BLIND
            steps.append(
                PlannedStep(chance.choice(subtasks), chance.choice(names), access)
            )
        planner = GivenPlanPlanner(tuple(steps))
        return Arrangement(task.carrier, planner, rounds=(RoundShape(count),))
