"""A tier of the pool as it is: its conductor plans."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    TaskContext,
    WorkerName,
)
from apps.runs.types import RunRestrictions


class TierSystem(BaseSystem):
    """What a caller of `conductor-mini` or `conductor-ultra` gets."""

    kind: Literal["tier"]
    tier: Literal["mini", "ultra"]
    max_rounds: Annotated[int, Field(ge=1, le=10)] | None = None
    """None, like the next ones: as the tier says."""
    max_steps: Annotated[int, Field(ge=1, le=64)] | None = None
    workers: tuple[WorkerName, ...] = ()
    """The workers that plans may name. Empty: all."""

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        limits = [
            f"{count} {noun}"
            for count, noun in ((self.max_rounds, "rounds"), (self.max_steps, "steps"))
            if count is not None
        ]
        if self.workers:
            limits.append(f"only {', '.join(self.workers)}")
        return f"conductor ({', '.join([self.tier, *limits])})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return self.workers

    def arrange(self, task: TaskContext) -> Arrangement:
        """Ask the tier."""
        restrictions = RunRestrictions(
            workers=self.workers, max_steps=self.max_steps, max_rounds=self.max_rounds
        )
        return Arrangement(self.tier, restrictions=restrictions)
