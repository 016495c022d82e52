"""The status of the whole site, from the database: processes, queue, workers.

For metrics and the operator's page, so across all teams, and without any text
of users. Cheap whatever the tables hold: unfinished runs have an index of their
own, and of runs and steps that are over only the newest are read.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median_low

from django.db.models import Count, Min, Q
from django.db.models.functions import Now, TruncHour
from django.utils import timezone

from apps.core.ids import first_id
from apps.runs.coordination.fail_run import OWNER_LOST
from apps.runs.models import Process, Run, Step

LATELY = timedelta(hours=1)
HOURS_SHOWN = 24
STEPS_READ = 5_000
"""The newest steps sampled for the statistics of workers."""
RUNS_READ = 5_000
"""The newest runs, among which are looked for those that died."""
ENOUGH_CALLS = 3
"""Workers with fewer calls are left out."""
SHOWN = 20
"""Rows of a list."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """A process that has, or had, a lease."""

    id: uuid.UUID
    kind: str
    name: str
    started_at: datetime
    expires_in_s: float
    """By the database's clock; below zero if the lease has run out."""
    runs: int
    """Unfinished runs that are its own."""

    @property
    def is_expired(self) -> bool:
        """Say whether its runs are for others to take."""
        return self.expires_in_s < 0


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """The processes of the site, and the runs that have not ended."""

    processes: tuple[ProcessStatus, ...]
    unfinished: int
    waiting: int
    """Unfinished runs without an owner."""
    oldest_waiting_s: float
    """How long the first of them has been on record; 0 if there is none."""

    def live_processes(self, kind: str) -> int:
        """Return how many processes of a kind hold a lease."""
        found = (p for p in self.processes if p.kind == kind and not p.is_expired)
        return sum(1 for _ in found)

    @property
    def expired(self) -> int:
        """Return how many leases have run out and were not swept yet."""
        return sum(1 for p in self.processes if p.is_expired)


@dataclass(frozen=True, slots=True)
class TroubledRun:
    """A run that processes died with."""

    id: uuid.UUID
    team: str
    state: str
    deaths: int
    created_at: datetime
    is_given_up: bool


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The recent calls of one worker of one team."""

    team: str
    worker: str
    calls: int
    failures: int
    latency_ms: int | None
    """Median of the steps it answered."""


@dataclass(frozen=True, slots=True)
class HourOfRuns:
    """How many runs began within one hour, of all teams."""

    hour: datetime
    runs: int
    failed: int


def site_status() -> SiteStatus:
    """Return how the site stands now."""
    owners = {
        owner_id: (count, oldest)
        for owner_id, count, oldest in Run.objects.across_teams()
        .filter(finished_at__isnull=True)
        .values_list("owner_id")
        .annotate(count=Count("id"), oldest=Min("created_at"))
    }
    waiting, oldest = owners.get(None, (0, None))
    since = timezone.now() - oldest if oldest else timedelta()
    return SiteStatus(
        processes=tuple(
            ProcessStatus(
                row.id,
                row.kind,
                row.name,
                row.started_at,
                (row.expires_at - row.now).total_seconds(),
                owners.get(row.id, (0, None))[0],
            )
            for row in Process.objects.annotate(now=Now()).order_by("started_at")
        ),
        unfinished=sum(count for count, _ in owners.values()),
        waiting=waiting,
        oldest_waiting_s=max(0.0, since.total_seconds()),
    )


def troubled_runs() -> list[TroubledRun]:
    """Return runs that processes died with: unfinished ones, then given up ones."""
    rows = Run.objects.across_teams()
    newest = rows.order_by("-id").values("id")[:RUNS_READ]
    unfinished = rows.filter(finished_at__isnull=True, deaths__gt=0)
    given_up = rows.filter(id__in=newest, error_code=OWNER_LOST.code)
    fields = ("id", "team__name", "state", "deaths", "created_at", "error_code")
    return [
        TroubledRun(run_id, team, state, deaths, created_at, code == OWNER_LOST.code)
        for found in (unfinished, given_up)
        for run_id, team, state, deaths, created_at, code in found.order_by(
            "-id"
        ).values_list(*fields)[:SHOWN]
    ]


def runs_by_hour() -> list[HourOfRuns]:
    """Return the runs that began in each of the last hours, the oldest first."""
    this_hour = (
        timezone.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    )
    hours = [this_hour - timedelta(hours=n) for n in range(HOURS_SHOWN)][::-1]
    rows = (
        Run.objects.across_teams()
        .filter(id__gte=first_id(hours[0]), created_at__gte=hours[0])
        .annotate(hour=TruncHour("created_at", tzinfo=UTC))
        .order_by("hour")
        .values_list("hour")
        .annotate(runs=Count("id"), failed=Count("id", filter=Q(state="failed")))
    )
    counts = {hour: (runs, failed) for hour, runs, failed in rows}
    return [HourOfRuns(hour, *counts.get(hour, (0, 0))) for hour in hours]


def worker_statuses() -> list[WorkerStatus]:
    """Return the least reliable workers: by recent failures, then by latency."""
    steps = (
        Step.objects.across_teams()
        .filter(run_id__gte=first_id(timezone.now() - LATELY))
        .order_by("-run_id")
        .values_list("team__name", "worker", "state", "latency_ms")[:STEPS_READ]
    )
    failures: dict[tuple[str, str], int] = defaultdict(int)
    latencies: dict[tuple[str, str], list[int]] = defaultdict(list)
    for team, worker, state, latency_ms in steps:
        if state == "failed":
            failures[team, worker] += 1
        elif state == "completed":
            latencies[team, worker].append(latency_ms)
    found = [
        WorkerStatus(
            *key,
            len(latencies[key]) + failures[key],
            failures[key],
            median_low(latencies[key]) if latencies[key] else None,
        )
        for key in failures.keys() | latencies.keys()
    ]
    known = [worker for worker in found if worker.calls >= ENOUGH_CALLS]
    known.sort(key=lambda w: (w.failures / w.calls, w.latency_ms or 0), reverse=True)
    return known[:SHOWN]
