"""Keeps the sums of the day in progress, up to a while ago.

Each part goes from the beginning of the day and takes the place of the one before, to
which it adds what has ended since. When the day is over it is summed anew from its
runs, by `daily_rollup.py`, and its parts go.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from apps.accounts.models import Team
from apps.runs.models import Run, RunState, UsageDay, UsagePart
from apps.runs.types import UsageGroup
from apps.runs.usage.report import (
    Slot,
    Span,
    Sums,
    add_slots,
    part_day,
    parts_within,
    runs_between,
    start_of,
    sums_between,
)

GROUPS: tuple[UsageGroup, ...] = ("day", "worker", "member", "key")
WAIT = timedelta(minutes=10)
"""How long ago a run must have begun: by then it is on record. One that comes later is
counted when the day is over."""
ENOUGH = 1_000
"""Runs that make another part worth its rows; so many are summed in a moment."""
ROWS_AT_ONCE = 1_000


def usage_part_keep(team_id: uuid.UUID) -> None:
    """Keep the sums of a team's day in progress, if much is new, and drop old parts."""
    parts_drop(team_id)
    at = timezone.now().astimezone(UTC) - WAIT
    before, slots = _newest(team_id, at)
    after = _end(team_id, before, at)
    runs = runs_between(team_id, before.end, after)
    if before.end < after and len(runs.values_list("id")[:ENOUGH]) == ENOUGH:
        _keep(
            team_id,
            after,
            add_slots(slots, sums_between(team_id, before.end, after, GROUPS)),
        )


def parts_drop(team_id: uuid.UUID) -> None:
    """Drop the parts of days that are kept whole, and of others all but the last two.

    A reader may be using the last but one; readers of older ones sum more rows.
    """
    parts = UsagePart.objects.for_team(team_id)
    by_day: dict[date, list[datetime]] = {}
    ends = parts.filter(group="day").order_by("until").values_list("until", flat=True)
    for end in ends:
        by_day.setdefault(part_day(end), []).append(end)
    kept = UsageDay.objects.for_team(team_id).filter(group="day", day__in=by_day)
    over = set(kept.values_list("day", flat=True))
    old = [
        end
        for day, ends_of_day in by_day.items()
        for end in (ends_of_day if day in over else ends_of_day[:-2])
    ]
    if old:
        parts.filter(until__in=old).delete()


def _newest(team_id: uuid.UUID, at: datetime) -> tuple[Span, Mapping[Slot, Sums]]:
    """Return what is kept of the day of a moment, until then at the latest."""
    begin = start_of(at.date())
    for found in parts_within(team_id, GROUPS, begin, at, ()):
        return found
    return Span(begin, begin), {}


def _end(team_id: uuid.UUID, before: Span, at: datetime) -> datetime:
    """Return until when all runs have ended."""
    running = Run.objects.for_team(team_id).filter(
        state=RunState.RUNNING, created_at__gte=before.end, created_at__lt=at
    )
    first: datetime | None = running.aggregate(first=Min("created_at"))["first"]
    return first or at


def _keep(team_id: uuid.UUID, until: datetime, slots: Mapping[Slot, Sums]) -> None:
    rows = [
        UsagePart(
            team_id=team_id,
            until=until,
            group=slot.group,
            key=slot.key,
            **sums._asdict(),
        )
        for slot, sums in slots.items()
    ]
    with transaction.atomic():
        team = Team.objects.select_for_update(no_key=True).filter(id=team_id)
        if team.values_list("id", flat=True):  # not deleted meanwhile
            UsagePart.objects.bulk_create(rows, ROWS_AT_ONCE)
