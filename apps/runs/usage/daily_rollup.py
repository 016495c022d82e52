"""Keeps the sums of days that are over.

A day is kept when it has been over for a while, unless one of its runs is still
running: what it used cannot change any more. Runs pay nothing for it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from apps.accounts.models import Team
from apps.runs.models import Run, RunState, UsageDay
from apps.runs.types import UsageGroup
from apps.runs.usage.report import (
    BEGIN,
    DAY,
    Slot,
    Sums,
    start_of,
    sums_between,
)

GROUPS: tuple[UsageGroup, ...] = ("day", "worker", "member", "key")
DAYS_AT_ONCE = 31
"""Summed together; bounds the memory."""
GRACE = timedelta(hours=1)
"""How long after its end a day is kept at the earliest: a run comes on record a little
after it began, seconds at most."""
KEPT_BACK = timedelta(days=800)
"""Older days are summed each time they are asked for."""
ROWS_AT_ONCE = 1_000
"""Committed together, with the others of their day: runs' own commits wait for it
where the database has one writer."""


def usage_days_keep(team_id: uuid.UUID) -> Iterator[None]:
    """Keep all days of a team that are over and not kept yet; yields after commits."""
    begun = _begun(team_id)
    if begun is None:
        return
    missing = _missing(team_id, begun)
    # The newest first: they are the ones that are looked at.
    for end in range(len(missing), 0, -DAYS_AT_ONCE):
        days = missing[max(0, end - DAYS_AT_ONCE) : end]
        for rows in _rows(team_id, days):
            _keep(team_id, rows)
            yield


def _begun(team_id: uuid.UUID) -> date | None:
    """Return the day of a team's first run, and keep it; None before there is one."""
    kept = UsageDay.objects.for_team(team_id).filter(group=BEGIN)
    for day in kept.values_list("day", flat=True):
        return day
    runs = Run.objects.for_team(team_id)
    first: datetime | None = runs.aggregate(first=Min("created_at"))["first"]
    if first is None:
        return None
    day = first.astimezone(UTC).date()
    row = UsageDay(team_id=team_id, group=BEGIN, day=day, **Sums()._asdict())
    _keep(team_id, [row])
    return day


def _missing(team_id: uuid.UUID, begun: date) -> list[date]:
    after = (timezone.now() - GRACE).astimezone(UTC).date()
    first = max(begun, after - KEPT_BACK)
    if first >= after:
        return []
    span = range(first.toordinal(), after.toordinal())
    missing = set(map(date.fromordinal, span)) - _kept(team_id, "day", first, after)
    if not missing:
        return []
    running = Run.objects.for_team(team_id).filter(
        state=RunState.RUNNING, created_at__lt=start_of(after)
    )
    at_work = running.values_list("created_at", flat=True)
    return sorted(missing - {at.astimezone(UTC).date() for at in at_work})


def _kept(team_id: uuid.UUID, group: str, first: date, after: date) -> set[date]:
    kept = UsageDay.objects.for_team(team_id).filter(
        group=group, day__gte=first, day__lt=after
    )
    return set(kept.values_list("day", flat=True))


def _rows(team_id: uuid.UUID, days: Sequence[date]) -> Iterator[list[UsageDay]]:
    """Yield the rows of these days, which ascend, some whole days at a time."""
    found = {Slot(day, "day", ""): Sums() for day in days}  # one of nothing as well
    begin, end = start_of(days[0]), start_of(days[-1] + DAY)
    found |= sums_between(team_id, begin, end, GROUPS)
    wanted, rows = set(days), list[UsageDay]()
    for day, slots in groupby(sorted(found), key=lambda slot: slot.day):
        if day in wanted:
            rows += (
                UsageDay(team_id=team_id, **slot._asdict(), **found[slot]._asdict())
                for slot in slots
            )
        if len(rows) >= ROWS_AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows


def _keep(team_id: uuid.UUID, rows: Sequence[UsageDay]) -> None:
    with transaction.atomic():
        # One process at a time keeps a team's days; a run's commit takes no such lock.
        team = Team.objects.select_for_update(no_key=True).filter(id=team_id)
        if not team.values_list("id", flat=True):
            return  # deleted meanwhile
        group = BEGIN if rows[0].group == BEGIN else "day"
        kept = _kept(team_id, group, rows[0].day, rows[-1].day + DAY)
        UsageDay.objects.bulk_create(
            [row for row in rows if row.day not in kept], ROWS_AT_ONCE
        )
