"""One worker corrects its own answer, turn by turn. Source: arXiv 2303.17651."""

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
from apps.planners.fixed import SelfReflectionPlanner


class SelfReflectionSystem(BaseSystem):
    """A chain of calls of one worker, each of which reads all before it."""

    kind: Literal["self_reflection"]
    worker: WorkerName
    turns: Annotated[int, Field(ge=2, le=10)] = 5
    """Calls in all, the first answer included."""

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"self-reflection × {self.turns} ({self.worker})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    @property
    def steps(self) -> int:
        """Return the steps that its plan has, at least."""
        return self.turns

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let the worker answer and reflect."""
        return Arrangement(
            CARRIER_TIER,
            SelfReflectionPlanner(self.worker, self.turns),
            steps=self.turns,
        )
