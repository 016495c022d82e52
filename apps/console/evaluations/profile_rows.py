"""What was measured of workers, as the pages of a worker and of a pool show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from apps.console.evaluations.evaluation_plot import HeatCell, IntervalBar, interval_bar
from apps.evaluation.reports.statistics import Interval, share
from apps.pools.models import (
    OutcomeSource,
    Pool,
    Worker,
    WorkerOutcome,
    WorkerProfile,
)
from apps.pools.worker_figures.outcomes import outcomes_of
from apps.pools.worker_figures.profiles import present_profiles


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """How a worker did on one family."""

    profile: WorkerProfile
    accuracy: Interval | None
    bar: IntervalBar | None

    @property
    def cost_micros(self) -> int:
        """Return what 1,000 tasks cost at the mean cost of a task."""
        return 1_000 * self.profile.cost_micros // self.profile.tasks

    @property
    def tokens(self) -> int:
        """Return the mean tokens of a task."""
        return round(self.profile.tokens / self.profile.tasks)


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """How a worker's answers in production were judged."""

    family: str
    label: str
    right: int
    total: int
    latest_at: datetime
    accuracy: Interval | None
    bar: IntervalBar | None


@dataclass(frozen=True, slots=True)
class ProfileView:
    """What the page of a worker shows of its calibration."""

    rows: Sequence[ProfileRow]
    is_outdated: bool
    """What was measured is another model, so it no longer counts."""
    pool: Pool | None
    """Where it can be calibrated. None: it is in no pool."""
    is_simulated: bool
    """What was measured is not of a real model, or not on real tasks."""
    outcomes: Sequence[OutcomeRow]
    """From production, apart from what was measured."""

    @property
    def source(self) -> WorkerProfile | None:
        """Return a profile that says where all of them come from."""
        return self.rows[0].profile if self.rows else None


@dataclass(frozen=True, slots=True)
class MeasuredWorker:
    """A row of the table of a pool's calibrated workers."""

    worker: Worker
    cells: Sequence[HeatCell]
    outcomes: Mapping[str, OutcomeRow]
    """From production, of all families, by `OutcomeSource`."""


@dataclass(frozen=True, slots=True)
class PoolProfiles:
    """Who is best at what in a pool."""

    families: Sequence[str]
    workers: Sequence[MeasuredWorker]
    best: Sequence[tuple[str, Sequence[str]]]
    """Each family with the workers that have its highest share."""
    unmeasured: int
    """Workers that were not calibrated, or whose model has changed."""
    is_simulated: bool
    """Some of it is not of real models, or not on real tasks."""


def profile_view(worker: Worker) -> ProfileView:
    """Return what was measured of a worker."""
    kept = list(worker.profiles.all())
    present = present_profiles(worker)
    rows = [_row(profile) for profile in present]
    pools = sorted(
        worker.pools.all(), key=lambda pool: (not pool.is_default, pool.name)
    )
    found = outcomes_of(worker.team_id, [worker.id]).get(worker.id, [])
    return ProfileView(
        rows,
        bool(kept) and not present,
        pools[0] if pools else None,
        _is_simulated({worker: present}),
        [_outcome_row([each], each.family) for each in found],
    )


def _row(profile: WorkerProfile) -> ProfileRow:
    accuracy = share(profile.right, profile.tasks)
    return ProfileRow(profile, accuracy, interval_bar(accuracy))


def _outcome_row(outcomes: Sequence[WorkerOutcome], family: str = "") -> OutcomeRow:
    """Return the sum of some outcomes of one source; there is at least one."""
    right = sum(each.right for each in outcomes)
    total = sum(each.total for each in outcomes)
    accuracy = share(right, total)
    return OutcomeRow(
        family,
        _(str(OutcomeSource(outcomes[0].source).label)),
        right,
        total,
        max(each.latest_at for each in outcomes),
        accuracy,
        interval_bar(accuracy),
    )


def _outcomes_by_source(outcomes: Sequence[WorkerOutcome]) -> dict[str, OutcomeRow]:
    groups = {
        str(source): [each for each in outcomes if each.source == source]
        for source in OutcomeSource
    }
    return {source: _outcome_row(rows) for source, rows in groups.items() if rows}


def pool_profiles(pool: Pool) -> PoolProfiles:
    """Return who is best at what in a pool. Prefetch its workers' profiles."""
    measured = {w: present_profiles(w) for w in pool.enabled_workers}
    found = {w: {p.family: p for p in rows} for w, rows in measured.items() if rows}
    families = sorted({family for rows in found.values() for family in rows})
    outcomes = outcomes_of(pool.team_id, [worker.id for worker in measured])
    workers = [
        MeasuredWorker(
            worker,
            [_cell(found.get(worker, {}).get(family), family) for family in families],
            _outcomes_by_source(outcomes.get(worker.id, [])),
        )
        for worker in measured
        if worker in found or worker.id in outcomes
    ]
    return PoolProfiles(
        families,
        workers,
        [(family, _best(workers, place)) for place, family in enumerate(families)],
        len(measured) - len(found),
        _is_simulated(measured),
    )


def _is_simulated(measured: Mapping[Worker, Sequence[WorkerProfile]]) -> bool:
    """Say whether something was measured of an imitation, or on tasks for those."""
    return any(
        worker.is_simulated or any(profile.is_simulated for profile in rows)
        for worker, rows in measured.items()
        if rows
    )


def _cell(profile: WorkerProfile | None, family: str) -> HeatCell:
    if profile is None:
        return HeatCell(family, 0, 0)
    return HeatCell(family, profile.right, profile.tasks)


def _best(workers: Sequence[MeasuredWorker], place: int) -> list[str]:
    top = max(row.cells[place].share for row in workers)
    return [
        row.worker.name
        for row in workers
        if row.cells[place].ended and row.cells[place].share == top
    ]
