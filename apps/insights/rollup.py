"""Keeps the sums of days that are over, and of most of the day in progress.

A day is kept when it has been over for a while, unless one of its runs is still
running: its runs cannot change any more. Parts of the day in progress go from its
beginning; each takes the place of the one before, to which it adds what has ended
since. Runs pay nothing for either. Doing it twice, or not at all, changes no figure.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from django.db.models import Min
from django.utils import timezone

from apps.insights.collecting import collect, ended_between
from apps.insights.models import KeptSpan
from apps.insights.periods import first_day
from apps.insights.stored import span_keep, span_load, spans_drop
from apps.insights.sums import Collected
from apps.runs.models import Run, RunState
from apps.runs.selectors import start_of
from apps.runs.services import RollupWatch

DAY = timedelta(days=1)
GRACE = timedelta(hours=1)
"""How long after its end a day is kept at the earliest: a run comes on record a little
after it began, seconds at most."""
KEPT_BACK = timedelta(days=400)
"""Older days are not summed: no page asks for them."""
WAIT = timedelta(minutes=10)
"""How long ago a run of the day in progress must have begun: by then it is on record.
One that comes later is counted when the day is over."""
ENOUGH = 1_000
"""Runs that make another part worth its rows; so many are summed in a moment."""

LATE = timedelta(minutes=30)
"""A team that has begun no run for so long has no more to keep today."""


def insights_watch() -> RollupWatch:
    """Return what keeps the sums of insights that are due."""
    return RollupWatch(team_insights_keep, LATE)


def team_insights_keep(team_id: uuid.UUID) -> Iterator[uuid.UUID]:
    """Keep what is due of a team, the newest days first; yields after each."""
    begun = first_day(team_id)
    if begun is None:
        return
    part_keep(team_id)
    yield team_id
    for day in reversed(_missing(team_id, begun)):
        begin = start_of(day)
        span_keep(team_id, day, begin + DAY, collect(team_id, begin, begin + DAY))
        yield team_id
    _parts_drop(team_id)


def part_keep(team_id: uuid.UUID) -> None:
    """Keep the sums of a team's day in progress, if much is new."""
    at = timezone.now().astimezone(UTC) - WAIT
    spans = KeptSpan.objects.for_team(team_id).filter(day=at.date(), until__lte=at)
    newest = spans.order_by("-until").first()
    begin = newest.until if newest else start_of(at.date())
    end = _first_running(team_id, begin, at) or at
    new = ended_between(team_id, begin, end)
    if begin >= end or len(new.values_list("id")[:ENOUGH]) < ENOUGH:
        return
    sums = span_load(team_id, newest.id) if newest else Collected()
    sums.merge(collect(team_id, begin, end))
    span_keep(team_id, at.date(), end, sums)


def _missing(team_id: uuid.UUID, begun: date) -> list[date]:
    after = (timezone.now() - GRACE).astimezone(UTC).date()
    first = max(begun, after - KEPT_BACK)
    if first >= after:
        return []
    span = map(date.fromordinal, range(first.toordinal(), after.toordinal()))
    kept = KeptSpan.objects.for_team(team_id).filter(day__gte=first, day__lt=after)
    rows = kept.values_list("day", "until")
    whole = {day for day, until in rows if until == start_of(day) + DAY}
    running = Run.objects.for_team(team_id).filter(
        state=RunState.RUNNING, created_at__lt=start_of(after)
    )
    at_work = running.values_list("created_at", flat=True)
    whole |= {at.astimezone(UTC).date() for at in at_work}
    return sorted(set(span) - whole)


def _first_running(
    team_id: uuid.UUID, begin: datetime, end: datetime
) -> datetime | None:
    running = Run.objects.for_team(team_id).filter(
        state=RunState.RUNNING, created_at__gte=begin, created_at__lt=end
    )
    found: datetime | None = running.aggregate(first=Min("created_at"))["first"]
    return found


def _parts_drop(team_id: uuid.UUID) -> None:
    """Drop the parts of days that are kept whole, and of others all but the last two.

    A reader may be using the last but one.
    """
    since = timezone.now().astimezone(UTC).date() - KEPT_BACK
    rows = KeptSpan.objects.for_team(team_id).filter(day__gte=since).order_by("until")
    by_day: dict[date, list[tuple[datetime, int]]] = defaultdict(list)
    for day, until, id in rows.values_list("day", "until", "id"):
        by_day[day].append((until, id))
    old: list[int] = []
    for day, spans in by_day.items():
        is_whole = spans[-1][0] == start_of(day) + DAY
        old += [id for _, id in (spans[:-1] if is_whole else spans[:-2])]
    if old:
        spans_drop(team_id, old)
