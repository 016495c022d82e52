"""Probes of a worker that the pool's light planner does not know, to learn from.

The newcomer does each kind of step in turn, on training tasks of all families, with
partners that the version in use thinks well of. Each four tasks get the four probes, in
an order of their own.
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
    WorkerName,
)
from apps.evaluation.systems.exploration import MAX_PLANS
from apps.planners.fixed import GivenPlanPlanner
from apps.planners.light.templates import template_plan

LONGEST = 2
"""Steps of a probe."""


class ProbeSystem(BaseSystem):
    """One probe of a worker for each task; several systems give each task several."""

    short_form: ClassVar[str] = (
        "probe:WORKER[:VERSION] (every role of a worker in turn, to learn from; "
        "partners as that version of the light planner knows them, or random)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "probe",
            _(
                "Probes of a worker: every kind of step, on the training tasks; choose "
                "them alone"
            ),
            ("{worker}",),
            needs=("worker",),
        ),
    )
    kind: Literal["probe"]
    worker: WorkerName
    version: Annotated[int, Field(ge=1)] | None = None
    """Of the pool's light planner. None: partners are drawn."""
    plan: Annotated[int, Field(ge=1, le=MAX_PLANS)] = 1
    """Number of the probe among those of a task."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the probes of a worker."""
        match parts:
            case ["probe", worker]:
                return [{"kind": "probe", "worker": worker}]
            case ["probe", worker, version]:
                return [{"kind": "probe", "worker": worker, "version": version}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        words = [self.worker]
        if self.version is not None:
            words.append(f"partners by version {self.version}")
        if self.plan > 1:
            words.append(f"probe {self.plan}")
        return f"probe ({', '.join(words)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    @property
    def is_exploration(self) -> bool:
        """Say whether planners learn from its plans, so that it is no comparison."""
        return True

    @property
    def steps(self) -> int:
        """Return the steps of the longest probe."""
        return LONGEST

    def arrange(self, task: TaskContext) -> Arrangement:
        """Return the probe whose turn it is. Raises: ValueError without the version."""
        # Brings NumPy with it, which a process without light planners does not need.
        from apps.planners.light.probes import PROBES, role_probe

        model = None if self.version is None else task.known_planner(self.version).model
        group, turn = divmod(task.place, len(PROBES))
        order = list(PROBES)
        task.shared_random(f"probes {group}").shuffle(order)
        template, workers = role_probe(
            order[(turn + self.plan - 1) % len(order)],
            self.worker,
            [each.name for each in task.workers if each.name != self.worker],
            task.prompt,
            model,
            task.random(f"probe {self.worker} {self.plan}"),
        )
        return Arrangement(
            task.carrier,
            GivenPlanPlanner(template_plan(template, workers).steps),
            rounds=(RoundShape(len(template), workers),),
        )
