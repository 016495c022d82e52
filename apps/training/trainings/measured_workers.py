"""Which workers the learning data shows to be best alone, over all and by family.

Over all, each family counts alike: a planner's own explorations ask workers for what
they do well, so the mean of all answers would flatter those who are asked for little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from apps.planners.light.fingerprints import (
    FORMER_SHARE,
    NOT_KNOWN,
    is_another_model,
)
from apps.planners.light.logged_runs import StepRole
from apps.training.learning_data.records import LearningRecord

PRIOR = 2.0
"""Answers that the mean of all is worth for a worker of which little is known."""


class MeasuredWorkers:
    """Counts answers that were given without anything in sight.

    `now` has the fingerprints of the workers' models; answers of others count little.
    """

    def __init__(self, now: Mapping[str, str] = NOT_KNOWN) -> None:
        self._now = now
        self._seen: dict[tuple[str, str], float] = defaultdict(float)
        self._right: dict[tuple[str, str], float] = defaultdict(float)

    def add(self, record: LearningRecord) -> None:
        """Count the answers of a run."""
        family, weight = record.graded.family, record.graded.weight
        for step in record.run.steps:
            is_alone = step.role is StepRole.SOLVE and not step.access
            if is_alone and step.grade is not None:
                now = self._now.get(step.worker, "")
                is_former = is_another_model(now, step.fingerprint)
                seen = weight * (FORMER_SHARE if is_former else 1.0)
                self.count(family, step.worker, seen, seen * step.grade)

    def count(self, family: str, worker: str, seen: float, right: float) -> None:
        """Count answers of a worker to prompts of a family."""
        self._seen[family, worker] += seen
        self._right[family, worker] += right

    def best(self, workers: Sequence[str]) -> str:
        """Return the worker that is right most often; of equals, the first."""
        return self._best(workers, {family for family, _ in self._seen})

    def best_by_family(self, workers: Sequence[str]) -> dict[str, str]:
        """Return the best worker of each family that was measured."""
        families = sorted({family for family, _ in self._seen if family})
        return {family: self._best(workers, {family}) for family in families}

    def _best(self, workers: Sequence[str], families: Collection[str]) -> str:
        means = {family: self._mean(workers, family) for family in families}

        def rate(name: str) -> float:
            return sum(
                (self._right[family, name] + PRIOR * mean)
                / (self._seen[family, name] + PRIOR)
                for family, mean in means.items()
            )

        return max(workers, key=rate)

    def _mean(self, workers: Sequence[str], family: str) -> float:
        seen = sum(self._seen[family, name] for name in workers)
        right = sum(self._right[family, name] for name in workers)
        return right / seen if seen else 0.0
