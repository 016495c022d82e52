"""A plan for each family that was made before the evaluation, by hand or otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from apps.core.input_parts import InputPart
from apps.engine.plan import PlannedStep
from apps.evaluation.suites.tasks import Label
from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    WorkerName,
)
from apps.planners.fixed import GivenPlanPlanner

MAX_STEPS = 10
DIGITS = 8
"""Of the digest in labels."""


class GivenStep(InputPart):
    """One step of a plan; see `PlannedStep`."""

    worker: WorkerName
    subtask: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)
    ]
    access: tuple[Annotated[int, Field(ge=0, lt=MAX_STEPS)], ...] = ()
    """Numbers of the earlier steps that it reads, from 0."""


GivenPlan = Annotated[tuple[GivenStep, ...], Field(min_length=1, max_length=MAX_STEPS)]


class GivenPlansSystem(BaseSystem):
    """Fixed plans by the family of a task."""

    short_form: ClassVar[str] = ""

    kind: Literal["given_plans"]
    name: Label
    """What reports call it."""
    plans: dict[Label, GivenPlan] = {}
    """By family."""
    others: GivenPlan
    """For all other families."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return nothing: plans have no short name."""
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        digest = hashlib.sha256(self.identity.encode()).hexdigest()
        return f"{self.name} (plans {digest[:DIGITS]})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        every = (*self.plans.values(), self.others)
        return tuple(sorted({step.worker for plan in every for step in plan}))

    @property
    def steps(self) -> int:
        """Return the steps of its longest plan."""
        return max(len(plan) for plan in (*self.plans.values(), self.others))

    def arrange(self, task: TaskContext) -> Arrangement:
        """Follow the plan of the family."""
        plan = self.plans.get(task.family, self.others)
        steps = tuple(PlannedStep(s.subtask, s.worker, s.access) for s in plan)
        workers = tuple(step.worker for step in plan)
        return Arrangement(
            task.carrier,
            GivenPlanPlanner(steps),
            rounds=(RoundShape(len(plan), workers),),
        )
