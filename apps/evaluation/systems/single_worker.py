"""One worker answers each task directly."""

from __future__ import annotations

from typing import Literal

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    TaskContext,
    WorkerName,
)
from apps.runs.planning.model_resolver import direct_model


class WorkerSystem(BaseSystem):
    """A direct call of one worker: the baseline that a conductor must beat."""

    kind: Literal["worker"]
    worker: WorkerName

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return self.worker

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the worker."""
        return Arrangement(direct_model(self.worker))
