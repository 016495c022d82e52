"""What is set aside for a run of an evaluation with a cost limit, if that gets tight.

The highest price of a run takes every answer to be as long as its worker may write, a
hundred times what most answers are. So where the limit has no room for it, a run gets
several times what runs of its system cost on average, and is held to that.
"""

from __future__ import annotations

from functools import cached_property

from apps.evaluation.likely_costs import likely_costs, mean_costs
from apps.evaluation.models import Evaluation, EvaluationResult
from apps.evaluation.settings import EvaluationSettings

TIMES_MEAN = 10
"""So many times the mean is room enough for almost every run."""
LEAST_MEASURED = 3
"""Results of this evaluation whose mean counts more than earlier ones."""


class LikelyRunCosts:
    """What runs of each system cost, as far as is known, in micro-dollars."""

    def __init__(self, evaluation: Evaluation, settings: EvaluationSettings) -> None:
        self._evaluation = evaluation
        self._settings = settings
        self._sums = {
            place: (mean.tasks, mean.tasks * mean.cost_micros)
            for place, mean in mean_costs(evaluation).items()
        }
        """Of this evaluation's results: how many, and what they cost together."""

    def add(self, result: EvaluationResult) -> None:
        """Count a result that has ended."""
        if not result.has_unknown_cost:
            count, cost = self._sums.get(result.system, (0, 0.0))
            self._sums[result.system] = count + 1, cost + result.cost_micros

    def bound(self, place: int) -> int | None:
        """Return what almost every run of a system costs at most; None: not known."""
        count, cost = self._sums.get(place, (0, 0.0))
        mean = cost / count if count >= LEAST_MEASURED else self._earlier[place]
        # Nothing may be bought for nothing, so a mean of 0 bounds no run.
        return round(TIMES_MEAN * mean) if mean else None

    @cached_property
    def _earlier(self) -> list[float | None]:
        return likely_costs(self._evaluation.version, self._settings)
