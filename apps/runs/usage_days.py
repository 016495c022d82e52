"""Keeps the sums of days that are over, so that nobody has to sum them again.

A day is kept when somebody asks for it and it has been over for a while, unless one of
its runs is still running: what it used cannot change any more. Runs pay nothing for it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.runs.models import Run, RunState, UsageDay
from apps.runs.types import UsageGroup
from apps.runs.usage import (
    DAY,
    Slot,
    Sums,
    days_within,
    runs_between,
    start_of,
    sums_by_day,
)

GROUPS: tuple[UsageGroup, ...] = ("day", "worker", "member", "key")
DAYS_AT_ONCE = 31
"""Summed together; bounds the memory."""
GRACE = timedelta(hours=1)
"""How long after its end a day is kept at the earliest: a run comes on record a little
after it began, seconds at most."""
KEPT_BACK = timedelta(days=800)
"""Older days are summed each time: whoever asks for odd times fills no table."""
ROWS_AT_ONCE = 1_000
"""Committed together, with the others of their day: runs' own commits wait for it
where the database has one writer."""


def usage_days_fill(team_id: uuid.UUID, since: datetime, until: datetime) -> None:
    """Keep the days of a period that are over and not kept yet."""
    missing = _missing(team_id, since.astimezone(UTC), until.astimezone(UTC))
    for start in range(0, len(missing), DAYS_AT_ONCE):
        for rows in _rows(team_id, missing[start : start + DAYS_AT_ONCE]):
            _keep(team_id, rows)


def _missing(team_id: uuid.UUID, since: datetime, until: datetime) -> list[date]:
    first, after = days_within(since, until)
    today = (timezone.now() - GRACE).astimezone(UTC).date()
    first, after = max(first, today - KEPT_BACK), min(after, today)
    if first >= after:
        return []
    span = range(first.toordinal(), after.toordinal())
    missing = set(map(date.fromordinal, span)) - _kept(team_id, first, after)
    if not missing:
        return []
    running = Run.objects.for_team(team_id).filter(
        state=RunState.RUNNING, created_at__lt=start_of(after)
    )
    begun = running.values_list("created_at", flat=True)
    return sorted(missing - {at.astimezone(UTC).date() for at in begun})


def _kept(team_id: uuid.UUID, first: date, after: date) -> set[date]:
    kept = UsageDay.objects.for_team(team_id).filter(
        group="day", day__gte=first, day__lt=after
    )
    return set(kept.values_list("day", flat=True))


def _rows(team_id: uuid.UUID, days: Sequence[date]) -> Iterator[list[UsageDay]]:
    """Yield the rows of these days, which ascend, some whole days at a time."""
    found = {Slot(day, "day", ""): Sums() for day in days}  # one of nothing as well
    runs = runs_between(team_id, start_of(days[0]), start_of(days[-1] + DAY))
    found |= sums_by_day(runs, GROUPS)
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
        # One viewer at a time keeps a team's days; a run's commit takes no such lock.
        team = Team.objects.select_for_update(no_key=True).filter(id=team_id)
        if not team.values_list("id", flat=True):
            return  # deleted meanwhile
        kept = _kept(team_id, rows[0].day, rows[-1].day + DAY)
        UsageDay.objects.bulk_create(
            [row for row in rows if row.day not in kept], ROWS_AT_ONCE
        )
