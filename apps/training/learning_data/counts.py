"""How much learning data there is, counted by rows alone: no text is read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.evaluation.models import StepGrade
from apps.planners.light.exploring import EXPLORED
from apps.pools.models import Pool
from apps.pools.selectors import pool_fingerprints
from apps.runs.models import Run
from apps.training.learning_data.graded_runs import graded_runs
from apps.training.learning_data.records import GradedRun
from apps.training.learning_data.served_models import ServedModels

FEWEST_RUNS = 500
"""Weight that a planner is fitted on, at least: with less it beats no simple rule."""

WEIGHT_DIGITS = 6
"""After the point: a thousand thousandths of a run are one run."""


@dataclass(frozen=True, slots=True)
class LearningCount:
    """Graded runs of one source and family."""

    source: str
    """A value of `GradeSource`."""
    family: str
    """Empty: of no evaluation."""
    runs: int
    graded_steps: int
    """The last steps included."""
    explored: int
    """Requests among the runs that tried a plan near the best one."""


@dataclass(frozen=True, slots=True)
class PoolLearning:
    """What there is to learn from for one pool."""

    pool: str
    counts: tuple[LearningCount, ...]
    weight: float
    """Of all runs: less than their number if a few people asked for most of them."""
    explored_requests: int
    """That tried a plan near the best one, graded or not."""
    former_runs: int
    """Of the runs, those in which a worker was another model than it is now."""

    @property
    def runs(self) -> int:
        """Return the graded runs."""
        return sum(count.runs for count in self.counts)

    @property
    def graded_steps(self) -> int:
        """Return the graded steps."""
        return sum(count.graded_steps for count in self.counts)

    @property
    def missing_runs(self) -> int:
        """Return how many more runs a planner needs; 0: one can be fitted."""
        return max(0, math.ceil(round(FEWEST_RUNS - self.weight, WEIGHT_DIGITS)))


def learning_counts(team_id: UUID) -> list[PoolLearning]:
    """Return what there is for each pool of a team, by their names."""
    pools = Pool.objects.for_team(team_id).order_by("name")
    return [_counted(pool) for pool in pools.prefetch_related("workers")]


def _counted(row: Pool) -> PoolLearning:
    team_id, pool = row.team_id, row.name
    served, now = ServedModels(team_id), pool_fingerprints(row)
    former = 0
    runs: Counter[tuple[str, str]] = Counter()
    steps: Counter[tuple[str, str]] = Counter()
    explored: Counter[tuple[str, str]] = Counter()
    weight = 0.0
    for page in graded_runs(team_id, pool):
        earlier = Counter(_graded_earlier(team_id, page))
        former += len(served.former([run.run_id for run in page], now))
        for run in page:
            group = run.source.value, run.family
            runs[group] += 1
            steps[group] += 1 + earlier[run.run_id]
            explored[group] += run.is_explored
            weight += run.weight
    counts = tuple(
        LearningCount(*group, runs[group], steps[group], explored[group])
        for group in sorted(runs)
    )
    tried = Run.objects.for_team(team_id).filter(planner=EXPLORED, pool_name=pool)
    return PoolLearning(pool, counts, weight, tried.count(), former)


def _graded_earlier(team_id: UUID, page: Sequence[GradedRun]) -> Iterator[UUID]:
    """Yield the run of each graded step before the last one."""
    rows = StepGrade.objects.for_team(team_id)
    rows = rows.filter(run_id__in=[run.run_id for run in page])
    yield from rows.values_list("run_id", flat=True)
