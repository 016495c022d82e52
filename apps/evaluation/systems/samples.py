"""One worker answers several times, the last time with its earlier answers in sight.

How far the answers agree says how sure the worker is; a cascade learns from that. After
arXiv 2311.17311, where the model chooses among its answers; here it answers anew, so
that its last answer is one more opinion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

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
from apps.planners.fixed import SamplesPlanner

SampleCount = Annotated[int, Field(ge=2, le=10)]


class SamplesSystem(BaseSystem):
    """Several answers of one worker."""

    short_form: ClassVar[str] = "samples:NAME[:COUNT] (several answers of one worker)"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "samples",
            "Several answers of the cheap worker, from which a cascade learns",
            ("{cheap}", "{samples}"),
            needs=("cheap",),
        ),
    )

    kind: Literal["samples"]
    worker: WorkerName
    samples: SampleCount = 3
    """Answers in all."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return samples of one worker."""
        match parts:
            case ["samples", worker]:
                return [{"kind": "samples", "worker": worker}]
            case ["samples", worker, count] if count.isdecimal():
                given = {"worker": worker, "samples": int(count)}
                return [{"kind": "samples", **given}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"samples × {self.samples} ({self.worker})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    @property
    def steps(self) -> int:
        """Return the steps that its plan has."""
        return self.samples

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let the worker answer so often."""
        return Arrangement(
            task.carrier,
            SamplesPlanner(self.worker, self.samples),
            rounds=(RoundShape(self.samples, self.named_workers),),
        )
