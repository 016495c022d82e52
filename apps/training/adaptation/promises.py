"""How well a planner's promises held: promised against observed success."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from uuid import UUID

from apps.core.errors import NotFound
from apps.evaluation.reports.statistics import Interval, share
from apps.planners.light.situations import RIGHT_FROM
from apps.pools.models import BrokenPromise, PlannerVersion
from apps.pools.selectors import fitted_model, pool_list
from apps.training.adaptation.models import ObservedRun

BOUNDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Of promised success: runs between two of them are shown together."""


@dataclass(frozen=True, slots=True)
class PromiseBin:
    """Graded requests that were promised about the same success."""

    least: float
    most: float
    runs: int
    promised: float
    """Mean success that was promised."""
    observed: Interval
    """Share that was right."""

    @property
    def is_kept(self) -> bool:
        """Return whether what was promised is within the interval."""
        return self.observed.low <= self.promised <= self.observed.high


@dataclass(frozen=True, slots=True)
class NoticedPromise:
    """A broken promise, with words that mark its kind of prompts."""

    row: BrokenPromise
    kind_words: str


@dataclass(frozen=True, slots=True)
class PlannerPromises:
    """What a version in use promised since its fit, and what came of it."""

    pool: str
    version: int
    runs: int
    """Graded requests that it planned."""
    promised: float | None
    """Mean success promised. None: there are no such requests."""
    observed: Interval | None
    bins: tuple[PromiseBin, ...]
    broken: tuple[NoticedPromise, ...]
    """The newest ones first."""

    @property
    def calibration_error(self) -> float | None:
        """Return the mean distance of promised and observed success, by bins.

        Source: M. P. Naeini, G. F. Cooper and M. Hauskrecht, "Obtaining Well Calibrated
        Probabilities Using Bayesian Binning" (AAAI, 2015).
        """
        if not self.runs:
            return None
        gaps = [
            each.runs * abs(each.promised - each.observed.value) for each in self.bins
        ]
        return sum(gaps) / self.runs

    @property
    def is_too_high(self) -> bool:
        """Return whether more was promised than the interval of what came of it."""
        return bool(
            self.observed
            and self.promised is not None
            and self.promised > self.observed.high
        )


def planner_promises(team_id: UUID) -> list[PlannerPromises]:
    """Return the promises of the planners in use in a team's pools, by pool."""
    pools = pool_list(team_id).exclude(planner_version=None)
    return [
        _promises(pool.name, pool.planner_version)
        for pool in pools.select_related("planner_version").order_by("name")
        if pool.planner_version is not None
    ]


def access_promise(team_id: UUID, promise_id: UUID) -> BrokenPromise:
    """Return a broken promise of the team. Raises: NotFound."""
    found = BrokenPromise.objects.for_team(team_id).filter(id=promise_id).first()
    if found is None:
        raise NotFound("this team has no such broken promise")
    return found


def _promises(pool: str, version: PlannerVersion) -> PlannerPromises:
    rows = ObservedRun.objects.for_team(version.team_id).filter(version=version)
    pairs = [
        (promised, grade >= RIGHT_FROM)
        for promised, grade in rows.values_list("promised", "grade")
        if promised is not None
    ]
    return PlannerPromises(
        pool,
        version.number,
        len(pairs),
        fmean(p for p, _ in pairs) if pairs else None,
        share(sum(right for _, right in pairs), len(pairs)),
        tuple(_bins(pairs)),
        tuple(_broken(version)),
    )


def _bins(pairs: Sequence[tuple[float, bool]]) -> list[PromiseBin]:
    found = []
    for least, most in pairwise(BOUNDS):
        inside = [
            (promised, right)
            for promised, right in pairs
            if least <= promised < most or promised == most == BOUNDS[-1]
        ]
        observed = share(sum(right for _, right in inside), len(inside))
        if observed is not None:
            mean = fmean(promised for promised, _ in inside)
            found.append(PromiseBin(least, most, len(inside), mean, observed))
    return found


def _broken(version: PlannerVersion) -> list[NoticedPromise]:
    rows = list(version.broken_promises.all())
    if not rows:
        return []
    words = fitted_model(version).kinds.examples
    return [NoticedPromise(row, words[row.kind]) for row in rows]
