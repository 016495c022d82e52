"""What a period of a team consists of: spans that are kept, and the rest.

The rest is summed from rows when it is read, up to so many runs. What is more than that
is missing until it is kept, which a report says.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from apps.insights.collecting import collect_newest
from apps.insights.models import KeptSpan
from apps.insights.sums import Collected
from apps.insights.types import Inquiry
from apps.runs.models import Run
from apps.runs.selectors import start_of

MOST_READ = 5_000
"""Runs that one reading sums from rows: a fifth of a second."""


@dataclass(frozen=True, slots=True)
class PeriodSources:
    """The sources of the figures of a time."""

    spans: Mapping[int, date]
    """Kept spans by their ids: the day of each."""
    rest: Mapping[date, Collected]
    """Of each day what is in no span."""
    is_complete: bool
    """False: there are more runs than were read."""


def period_of(asked: Inquiry) -> PeriodSources:
    """Return what there is of a period of whole days, the last one in progress."""
    spans = _spans(asked)
    left = MOST_READ
    rest: dict[date, Collected] = {}
    ids = {id: day for day, (_, id) in spans.items()}
    begun = first_day(asked.team_id)
    if begun is None:
        return PeriodSources({}, rest, is_complete=True)
    is_complete = True
    for begin, end in _gaps(max(asked.first_day, begun), asked.until, spans):
        found, count = collect_newest(asked.team_id, begin, end, left + 1)
        is_complete = is_complete and count <= left
        left = max(left - count, 0)
        for day, collected in found.items():
            rest.setdefault(day, Collected()).merge(collected)
    return PeriodSources(ids, rest, is_complete)


def first_day(team_id: uuid.UUID) -> date | None:
    """Return the day of a team's first run; None: there is none."""
    runs = Run.objects.for_team(team_id).order_by("id")
    for at in runs.values_list("created_at", flat=True)[:1]:
        return at.astimezone(UTC).date()
    return None


def _spans(asked: Inquiry) -> dict[date, tuple[datetime, int]]:
    """Return of each day the span that goes furthest: its end and its id."""
    rows = KeptSpan.objects.for_team(asked.team_id).filter(
        day__gte=asked.first_day, day__lte=asked.last_day
    )
    found: dict[date, tuple[datetime, int]] = {}
    for day, end, id in rows.order_by("until").values_list("day", "until", "id"):
        if end <= asked.until:
            found[day] = end, id
    return found


def _gaps(
    first: date, until: datetime, spans: Mapping[date, tuple[datetime, int]]
) -> list[tuple[datetime, datetime]]:
    """Return the times from a day on that are in no span, the newest first."""
    gaps: list[tuple[datetime, datetime]] = []
    begin = start_of(first)
    for day in sorted(each for each in spans if each >= first):
        if begin < start_of(day):
            gaps.append((begin, start_of(day)))
        begin = spans[day][0]
    if begin < until:
        gaps.append((begin, until))
    return gaps[::-1]


def merged(parts: Iterable[Collected]) -> Collected:
    """Return the sums of several parts together."""
    found = Collected()
    for part in parts:
        found.merge(part)
    return found
