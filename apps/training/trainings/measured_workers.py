"""Which workers the learning data shows to be best alone, over all and by family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from apps.planners.light.logged_runs import StepRole
from apps.training.learning_data.records import LearningRecord

PRIOR = 2.0
"""Answers that the mean of all is worth for a worker of which little is known."""


class MeasuredWorkers:
    """Counts answers that were given without anything in sight."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], float] = defaultdict(float)
        self._right: dict[tuple[str, str], float] = defaultdict(float)

    def add(self, record: LearningRecord) -> None:
        """Count the answers of a run."""
        family, weight = record.graded.family, record.graded.weight
        for step in record.run.steps:
            is_alone = step.role is StepRole.SOLVE and not step.access
            if is_alone and step.grade is not None:
                for group in (family, ""):
                    self._seen[group, step.worker] += weight
                    self._right[group, step.worker] += weight * step.grade

    def best(self, workers: Sequence[str], family: str = "") -> str:
        """Return the worker that was right most often; of equals, the first."""
        seen = sum(self._seen[family, name] for name in workers)
        right = sum(self._right[family, name] for name in workers)
        mean = right / seen if seen else 0.0

        def rate(name: str) -> float:
            found = self._right[family, name] + PRIOR * mean
            return found / (self._seen[family, name] + PRIOR)

        return max(workers, key=rate)

    def best_by_family(self, workers: Sequence[str]) -> dict[str, str]:
        """Return the best worker of each family that was measured."""
        families = sorted({family for family, _ in self._seen if family})
        return {family: self.best(workers, family) for family in families}
