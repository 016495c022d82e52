"""The worker that was right most often on tasks of the same family answers.

What is known of the workers comes from an earlier evaluation on other tasks.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from apps.evaluation.suites.tasks import Label
from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    TaskContext,
    WorkerName,
    short_id,
)
from apps.runs.planning.model_resolver import direct_model


class WorkerPerFamilySystem(BaseSystem):
    """A router by the family of a task."""

    kind: Literal["worker_per_family"]
    measured_by: UUID
    """An evaluation of single workers on other tasks."""
    workers: dict[Label, WorkerName] = {}
    """The worker of each family, as measured. Filled in when the evaluation starts,
    and recorded."""
    others: WorkerName | None = None
    """The worker for families that were not measured."""

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"best worker per family (by {short_id(self.measured_by)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        found = {*self.workers.values(), *([self.others] if self.others else [])}
        return tuple(sorted(found))

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the family's worker. Raises: ValueError if nothing has been measured."""
        worker = self.workers.get(task.family, self.others)
        if worker is None:
            raise ValueError("no worker has been measured")
        return Arrangement(direct_model(worker))
