"""Several workers propose, one aggregates. Source: arXiv 2406.04692, one layer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from apps.evaluation.systems.base import (
    CARRIER_TIER,
    Arrangement,
    BaseSystem,
    TaskContext,
    WorkerName,
)
from apps.planners.fixed import MixtureOfAgentsPlanner


class MixtureOfAgentsSystem(BaseSystem):
    """Independent proposals, and an aggregator that reads them all."""

    kind: Literal["mixture_of_agents"]
    workers: Annotated[tuple[WorkerName, ...], Field(min_length=2, max_length=20)]
    aggregator: WorkerName

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"mixture of agents ({', '.join(self.workers)} → {self.aggregator})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (*self.workers, self.aggregator)

    @property
    def steps(self) -> int:
        """Return the steps that its plan has, at least."""
        return len(self.workers) + 1

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let all propose."""
        planner = MixtureOfAgentsPlanner(self.workers, self.aggregator)
        return Arrangement(CARRIER_TIER, planner, steps=self.steps)
