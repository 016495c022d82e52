"""What systems share in which one worker does all steps of one plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    WorkerName,
)
from apps.planners.fixed import FixedPlanner


class RepeatedWorkerSystem(BaseSystem):
    """One worker that is called several times, by a plan of its kind."""

    short_name: ClassVar[str]
    """Begins its names on the command line and in reports."""
    kind_name: ClassVar[str]
    """The value of `kind`."""
    count_field: ClassVar[str]
    """The field with the number of calls."""

    worker: WorkerName

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the system of a short name with a worker, and perhaps a number."""
        match parts:
            case [cls.short_name, worker]:
                return [{"kind": cls.kind_name, "worker": worker}]
            case [cls.short_name, worker, count] if count.isdecimal():
                given = {"worker": worker, cls.count_field: int(count)}
                return [{"kind": cls.kind_name, **given}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"{self.short_name} × {self.steps} ({self.worker})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    @property
    def steps(self) -> int:
        """Return the steps that its plan has."""
        return int(getattr(self, self.count_field))

    @property
    @abstractmethod
    def planner(self) -> FixedPlanner:
        """Return what makes its plans."""

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let the worker do every step."""
        rounds = (RoundShape(self.steps, self.named_workers),)
        return Arrangement(task.carrier, self.planner, rounds=rounds)
