"""A tier of the pool as it is: its conductor plans."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from apps.core.input_parts import InputPart
from apps.evaluation.systems.base import Arrangement, TaskContext, WorkerName
from apps.runs.types import RunRestrictions


class TierSystem(InputPart):
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
            limits.append(f"{len(self.workers)} workers")
        return f"conductor ({', '.join([self.tier, *limits])})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return self.workers

    @property
    def steps(self) -> int:
        """Return the steps that its plans always have; 0: the tier decides."""
        return 0

    def arrange(self, task: TaskContext) -> Arrangement:
        """Ask the tier."""
        restrictions = RunRestrictions(
            workers=self.workers, max_steps=self.max_steps, max_rounds=self.max_rounds
        )
        return Arrangement(self.tier, restrictions=restrictions)
