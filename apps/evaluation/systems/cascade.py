"""A cheap worker answers, and a strong one where the cheap one is not sure.

Sources: FrugalGPT, arXiv 2305.05176 (a cascade whose rules are learned from graded
answers); AutoMix, arXiv 2310.12963 (a small model's confidence in its own answer
decides, and the gain per cost is what counts). Confidence is how many earlier answers
of the cheap worker agree with its last one.

The threshold is learned when an evaluation starts, by `least_agreeing`, from an earlier
one that ran `samples` of the cheap worker and the strong worker alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal, Self

from django.utils.translation import gettext_noop as _

from apps.evaluation.systems.base import (
    Arrangement,
    MeasuredSystem,
    PageChoice,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    WorkerName,
    short_id,
)
from apps.evaluation.systems.earlier import EarlierEvaluation, SampledTask
from apps.evaluation.systems.samples import SampleCount
from apps.planners.fixed import CascadePlanner

FEWEST_TASKS = 10
Point = tuple[int, int]
"""Tasks that are right, and micro-dollars, summed over all tasks."""


class CascadeSystem(MeasuredSystem):
    """Two workers, the second of which is asked only if need be."""

    short_form: ClassVar[str] = (
        "cascade:CHEAP:STRONG:EVALUATION (that one ran samples:CHEAP and worker:STRONG)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "cascade",
            _("Cascade: the cheap worker, then the chosen one if need be, as measured"),
            ("{cheap}", "{worker}", "{measured}"),
            needs=("cheap", "measured"),
        ),
    )

    kind: Literal["cascade"]
    cheap: WorkerName
    strong: WorkerName
    samples: SampleCount | None = None
    """Answers of the cheap worker. None: as the earlier evaluation had them; filled in
    when the evaluation starts, like the next ones, and recorded."""
    least_agreeing: int | None = None
    """So many earlier answers must agree with the last one, or the strong worker is
    asked. 0: it never is; as many as there are samples: it always is."""
    tasks: int = 0
    """That it was learned from."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the cascade of two workers."""
        match parts:
            case ["cascade", cheap, strong, evaluation]:
                given = {"cheap": cheap, "strong": strong, "measured_by": evaluation}
                return [{"kind": "cascade", **given}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"cascade ({self.cheap}, {self.strong}; by {short_id(self.measured_by)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.cheap, self.strong)

    @property
    def steps(self) -> int:
        """Return the steps that its first plan has."""
        return self.samples or 0

    def learned(self, earlier: EarlierEvaluation) -> Self:
        """Learn the threshold. Raises: ValueError if too little is on record."""
        count, tasks = earlier.sampled(self.cheap, self.strong, self.samples)
        if len(tasks) < FEWEST_TASKS:
            raise ValueError(
                f"it takes {FEWEST_TASKS} tasks that both workers have answered, and "
                f"the answers to {len(tasks)} are still on record"
            )
        return self.model_copy(
            update={
                "samples": count,
                "least_agreeing": least_agreeing(tasks, count),
                "tasks": len(tasks),
            }
        )

    def arrange(self, task: TaskContext) -> Arrangement:
        """Ask the cheap worker, then perhaps the strong one. Raises: ValueError."""
        if self.samples is None or self.least_agreeing is None:
            raise ValueError("its threshold has not been learned")
        return Arrangement(
            task.carrier,
            CascadePlanner(self.cheap, self.samples, self.strong, self.least_agreeing),
            rounds=(
                RoundShape(self.samples, (self.cheap,)),
                RoundShape(1, (self.strong,)),
            ),
        )


def least_agreeing(tasks: Sequence[SampledTask], samples: int) -> int:
    """Return the threshold that is furthest above the line between both workers.

    The line leads from the cheap worker's samples to the strong worker alone, in the
    plane of right answers against cost: what is above it gains more for its cost than a
    random choice between both. If the strong worker is not right more often, or not
    dearer, the number of right answers alone decides. Of equal thresholds the smallest
    asks the strong worker least. After arXiv 2310.12963, incremental benefit per cost.
    """
    rate = _rate(
        _point(tasks, 0),
        (
            sum(task.strong_is_right for task in tasks),
            sum(task.strong_cost_micros for task in tasks),
        ),
    )

    def gain(least: int) -> Fraction:
        right, cost = _point(tasks, least)
        return right - rate * cost

    return max(range(samples + 1), key=lambda least: (gain(least), -least))


def _point(tasks: Sequence[SampledTask], least: int) -> Point:
    """Return what the cascade with this threshold would have come to."""
    right = cost = 0
    for task in tasks:
        is_kept = task.agreeing >= least
        right += task.is_right if is_kept else task.strong_is_right
        cost += task.cost_micros + (0 if is_kept else task.strong_cost_micros)
    return right, cost


def _rate(cheap: Point, strong: Point) -> Fraction:
    """Return right answers per micro-dollar along the line between two workers."""
    more_right, more_cost = strong[0] - cheap[0], strong[1] - cheap[1]
    if more_right <= 0 or more_cost <= 0:
        return Fraction(0)
    return Fraction(more_right, more_cost)
