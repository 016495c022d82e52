"""The worker that was right most often on the tasks most alike answers.

What is known of the workers comes from an earlier evaluation on other tasks. Routing by
nearest neighbours is a strong baseline for learned routers: arXiv 2505.12601.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    TaskContext,
    WorkerName,
    short_id,
)
from apps.runs.planning.model_resolver import direct_model


class NearestNeighborsSystem(BaseSystem):
    """A router by the tasks most alike."""

    kind: Literal["nearest_neighbors"]
    measured_by: UUID
    """An evaluation of single workers on other tasks."""
    neighbors: Annotated[int, Field(ge=1, le=100)] = 10
    """Tasks that are asked about."""
    workers: tuple[WorkerName, ...] = ()
    """Those that were measured. Filled in when the evaluation starts, and recorded."""

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"{self.neighbors} nearest neighbours (by {short_id(self.measured_by)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return self.workers

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the worker that is best near the task. Raises: ValueError."""
        index = task.measured(self.measured_by)
        return Arrangement(direct_model(index.best_worker(task.prompt, self.neighbors)))
