"""Assigns runs to processes by leases, in the database's own time.

A process with an executor holds a lease: a row that it renews. A run belongs to a lease
and carries a number, its fence, that grows with each change of hands; every write of a
run checks it, so a process that was paused, and wakes up after others have taken its
runs, can write nothing any more. All functions block; not for the event loop.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import (
    DateTimeField,
    ExpressionWrapper,
    F,
    Q,
    QuerySet,
    Window,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Now, RowNumber

from apps.core.ids import new_id
from apps.runs.models import PlanApproval, Process, ProcessKind, Run
from apps.runs.telemetry import metrics

LEASE_S = 10.0
RENEW_S = 3.0
"""Two renewals may fail before others take over."""
SWEEP_S = 3.0
"""How often each process looks for runs without an owner."""
MAX_DEATHS = 3
"""A run that so many processes died with is not tried again."""
QUEUE_S = 10.0
"""Any process takes a run that no worker process has taken within this time."""


class Ownership(NamedTuple):
    """Whose a run is; every write of the run checks it."""

    owner_id: uuid.UUID | None
    """A lease. None: no process owns it."""
    fence: int


def process_open(kind: ProcessKind) -> uuid.UUID:
    """Take a lease for this process and return its id."""
    with transaction.atomic():
        if connections[DEFAULT_DB_ALIAS].vendor == "sqlite":
            # One process alone serves a SQLite database: the others are dead.
            Process.objects.all().delete()
        return process_reopen(kind)


def process_reopen(kind: ProcessKind) -> uuid.UUID:
    """Take another lease in place of one that is over."""
    process = Process(
        id=new_id(),
        kind=kind,
        name=f"{socket.gethostname()}:{os.getpid()}",
        started_at=Now(),
        expires_at=_in(LEASE_S),
    )
    process.save(force_insert=True)
    return process.id


def process_renew(lease_id: uuid.UUID, live_runs: int) -> bool:
    """Prolong a lease; False if others have declared it over."""
    rows = Process.objects.filter(id=lease_id)
    return bool(rows.update(expires_at=_in(LEASE_S), live_runs=live_runs))


def is_leader(lease_id: uuid.UUID) -> bool:
    """Return True on the leader: the process with the oldest lease of the site."""
    by_age = Process.objects.order_by("started_at", "id")
    return by_age.values_list("id", flat=True).first() == lease_id


def has_process(kind: ProcessKind) -> bool:
    """Say whether a process of a kind holds a lease."""
    rows = Process.objects.filter(kind=kind, expires_at__gt=Now())
    return bool(rows.exists())


def process_close(lease_id: uuid.UUID) -> None:
    """Release a lease on shutdown; its runs lose their owner, without a crash count."""
    with transaction.atomic():
        _unfinished().filter(owner_id=lease_id).update(
            owner_id=None, fence=F("fence") + 1
        )
        Process.objects.filter(id=lease_id).delete()


def leases_sweep(lease_id: uuid.UUID | None = None) -> None:
    """End expired leases, except one's own; their runs lose their owner."""
    expired = Process.objects.filter(expires_at__lt=Now())
    if lease_id is not None:
        expired = expired.exclude(id=lease_id)
    orphans = (
        _unfinished()
        .filter(owner_id__isnull=False)
        .exclude(owner_id__in=Process.objects.values("id"))
    )
    if expired.exists() or orphans.exists():  # looking takes no lock
        with transaction.atomic():
            ended, _ = expired.delete()
            # Rows of a process that stands still may be locked: a later sweep's.
            free = orphans.select_for_update(skip_locked=True)
            found = list(free.values_list("id", flat=True))
            # Whoever waits for people did nothing that could end a process.
            waiting = list(open_approvals(found).values_list("run_id", flat=True))
            lost = orphans.filter(id__in=found)
            lost.filter(id__in=waiting).update(owner_id=None, fence=F("fence") + 1)
            died_with = lost.exclude(id__in=waiting).update(
                owner_id=None, fence=F("fence") + 1, deaths=F("deaths") + 1
            )
        metrics.LEASES_EXPIRED.add(by=ended)
        metrics.OWNER_DEATHS.add(by=died_with)


def open_approvals(run_ids: Collection[uuid.UUID]) -> QuerySet[PlanApproval]:
    """Return the plans of these runs that wait for people."""
    rows = PlanApproval.objects.across_teams()
    return rows.filter(run_id__in=run_ids, settled_at__isnull=True)


def deaths_take_back(run_ids: Collection[uuid.UUID]) -> None:
    """Count one death less for these runs: their owner was only away."""
    rows = _unfinished().filter(id__in=run_ids, deaths__gt=0)
    rows.update(deaths=F("deaths") - 1)


def runs_owned(lease_id: uuid.UUID) -> list[uuid.UUID]:
    """Return the unfinished runs of a lease."""
    return list(_unfinished().filter(owner_id=lease_id).values_list("id", flat=True))


def runs_claim(
    lease_id: uuid.UUID,
    limit: int,
    *,
    run_ids: Collection[uuid.UUID] | None = None,
    leaves_queue: bool = False,
) -> list[Run]:
    """Take up to `limit` runs without an owner and return them.

    Each team's oldest first: a team that queued thousands is one team among others.
    `run_ids`: only these, even if the lease has them already. `leaves_queue`: those
    that were queued for worker processes a moment ago stay theirs for a while.
    """
    free = _unfinished().filter(owner_id__isnull=True)
    if run_ids is not None:
        free = _unfinished().filter(
            Q(owner_id__isnull=True) | Q(owner_id=lease_id), id__in=run_ids
        )
    if leaves_queue:
        free = free.filter(Q(fence__gt=0) | Q(created_at__lt=_in(-QUEUE_S)))
    if limit < 1 or not free.exists():
        return []
    with transaction.atomic():
        mine = Process.objects.select_for_update().filter(id=lease_id)
        if mine.first() is None:
            return []  # others have just declared it over
        locked = _fairest(free, limit).select_for_update(skip_locked=True)
        runs = list(locked[:limit])
        ids = [run.id for run in runs]
        Run.objects.across_teams().filter(id__in=ids).update(
            owner_id=lease_id, fence=F("fence") + 1
        )
    for run in runs:
        run.owner_id, run.fence = lease_id, run.fence + 1
    return runs


def is_owned(run_id: uuid.UUID, ownership: Ownership) -> bool:
    """Say whether the run is still in these hands."""
    rows = Run.objects.across_teams().filter(id=run_id, fence=ownership.fence)
    return rows.exists()


def _fairest(free: QuerySet[Run], limit: int) -> QuerySet[Run]:
    """Return those that are next, if there are more than `limit`."""
    if not free.order_by()[limit : limit + 1].exists():
        return free.order_by("id")
    turn = Window(RowNumber(), partition_by="team_id", order_by="id")
    # Ids first: rows that a window function numbers cannot be locked.
    next_ids = (
        free.annotate(turn=turn).order_by("turn", "id").values_list("id", flat=True)
    )
    return free.filter(id__in=list(next_ids[:limit])).order_by("id")


def _unfinished() -> QuerySet[Run]:
    # By the column that the index of unfinished runs is for.
    return Run.objects.across_teams().filter(finished_at__isnull=True)


def _in(seconds: float) -> Combinable:
    later = Now() + timedelta(seconds=seconds)
    return ExpressionWrapper(later, output_field=DateTimeField())
