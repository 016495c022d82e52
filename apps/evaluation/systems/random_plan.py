"""A valid plan by chance: what planning is worth is measured against it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from apps.engine.plan import PlannedStep
from apps.evaluation.systems.base import (
    CARRIER_TIER,
    Arrangement,
    BaseSystem,
    TaskContext,
)
from apps.planners.fixed import (
    AGGREGATION,
    FIRST_ATTEMPT,
    REFLECTION,
    GivenPlanPlanner,
)

OUTLINE = "Plan how to answer the user's question, without the answer itself."
BLIND = (FIRST_ATTEMPT, OUTLINE)
STEPS = 5
READING = (FIRST_ATTEMPT, REFLECTION, AGGREGATION)


class RandomPlanSystem(BaseSystem):
    """Steps, workers and access lists are drawn, the same for the same seed."""

    kind: Literal["random_plan"]
    max_steps: Annotated[int, Field(ge=1, le=10)] = STEPS

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
        return Arrangement(CARRIER_TIER, GivenPlanPlanner(tuple(steps)), steps=count)
