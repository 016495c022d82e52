"""Reports the usage of a team by day, worker, member or key.

Days that are over are summed once and kept (`daily_rollup.py`), and so is most of the
day in progress (`intraday_rollup.py`); the rest of a period is summed from rows of runs
and steps whenever it is read. Kept sums never change, because their runs have ended;
names are looked up when read, so they are today's. What is not kept yet takes longer to
read and reads the same.

Rows of every grouping add up to the team's whole cost: what is no worker's (planning,
and calls that were cut off) has a row of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from operator import add
from typing import Any, NamedTuple

from django.db.models import (
    BigIntegerField,
    CharField,
    Count,
    DateField,
    F,
    Q,
    QuerySet,
    Sum,
    Value,
)
from django.db.models.functions import Cast, TruncDate
from django.utils import timezone

from apps.accounts.models import ApiKey, User
from apps.core.ids import first_id
from apps.runs.hex_ids import HexId
from apps.runs.models import STATES_CALLED, Run, RunState, UsageDay, UsagePart
from apps.runs.types import NO_KEY, NOBODY, PLANNING, UsageGroup, UsageRow

DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 2, tzinfo=UTC)
"""No run is older."""
ID_SLACK = timedelta(hours=2)
"""How much older an id may yet seem if the clock is put forward as the run begins: more
than an hour, by which clocks are wrong that are kept in local time."""
BEGIN = "begin"
"""The group of a kept row that says: the team ran nothing before this day."""


class Sums(NamedTuple):
    """What some runs, or some steps, used together."""

    runs: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micros: int = 0
    """The known part."""
    unknown_costs: int = 0
    """How many have a cost that is not wholly known."""


class Slot(NamedTuple):
    """What sums are of."""

    day: date
    group: UsageGroup
    key: str
    """A worker's name or the hexadecimal id of a member or key; empty for the whole
    day, and for runs without a member or key."""


class Span(NamedTuple):
    """A part of a period."""

    begin: datetime
    end: datetime


def _sum(name: str) -> Any:
    # PostgreSQL adds up large integers to decimal numbers.
    return Cast(Sum(name, default=0), BigIntegerField())


_RUN_SUMS: Mapping[str, Any] = {
    "sum_runs": Count("id"),
    "sum_failed": Count("id", filter=Q(state=RunState.FAILED)),
    "sum_prompt": _sum("prompt_tokens"),
    "sum_completion": _sum("completion_tokens"),
    "sum_cost": _sum("cost_micros"),
    "sum_unknown": Count("id", filter=Q(has_unknown_cost=True)),
}
_STEP_SUMS: Mapping[str, Any] = {
    "sum_runs": Count("id", distinct=True),
    "sum_failed": Count("steps", filter=Q(steps__state="failed")),
    "sum_prompt": _sum("steps__prompt_tokens"),
    "sum_completion": _sum("steps__completion_tokens"),
    "sum_cost": _sum("steps__cost_micros"),
    "sum_unknown": Count("steps", filter=Q(steps__cost_micros=None)),
}
_KEPT_SUMS: Mapping[str, Any] = {f"sum_{name}": _sum(name) for name in Sums._fields}
# As text: thousands of UUID objects would cost more than the sums themselves.
_OWNERS: Mapping[UsageGroup, Any] = {
    "member": HexId("user_id"),
    "key": HexId("api_key_id"),
}
_NO_KEY = Value("", CharField())


def usage_rows(
    team_id: uuid.UUID,
    groups: Collection[UsageGroup],
    since: datetime,
    until: datetime,
) -> dict[UsageGroup, list[UsageRow]]:
    """Return a team's usage of runs that began from `since` to before `until`."""
    since, until = since.astimezone(UTC), until.astimezone(UTC)
    found: dict[UsageGroup, dict[str, Sums]] = {group: {} for group in ("day", *groups)}
    begun, whole_days = _kept_days(team_id, since, until)
    found["day"] = {day.isoformat(): s for day, s in whole_days.items() if s.runs}
    others = tuple(group for group in groups if group != "day")
    if others and whole_days:
        for group, key, sums in _kept_groups(team_id, others, tuple(whole_days)):
            add_sums(found[group], key, sums)
    spans = [Span(start_of(day), start_of(day) + DAY) for day in whole_days]
    for span, slots in parts_within(team_id, groups, since, until, whole_days):
        _add_slots(found, slots)
        spans.append(span)
    for begin, end in _gaps(max(since, begun), until, sorted(spans)):
        _add_slots(found, sums_between(team_id, begin, end, groups))
    return {group: _rows(team_id, group, found) for group in groups}


def runs_between(team_id: uuid.UUID, begin: datetime, end: datetime) -> QuerySet[Run]:
    """Return a team's runs that began from `begin` to before `end`, and their day."""
    # No id is older than its run, so the index leaves out what came before. Younger it
    # may be: ids ascend even while the clock is set back.
    first = first_id(min(max(begin, EPOCH), timezone.now()) - ID_SLACK)
    # SQLite asks Python for the day of each row, so not where all have the same.
    is_one_day = begin.date() == (end - timedelta.resolution).date()
    same = Value(begin.date(), DateField())
    return (
        Run.objects.for_team(team_id)
        .filter(id__gte=first, created_at__gte=begin, created_at__lt=end)
        .annotate(day=same if is_one_day else TruncDate("created_at", tzinfo=UTC))
    )


def sums_between(
    team_id: uuid.UUID, begin: datetime, end: datetime, groups: Collection[UsageGroup]
) -> dict[Slot, Sums]:
    """Return the sums of `groups`, and of days in any case, from rows of runs.

    All from one statement, so that they are of the same moment and add up.
    """
    runs = runs_between(team_id, begin, end)
    owners = tuple(group for group in _OWNERS if group in groups)
    # Of a day both at once: fewer rows are read. Of many days each alone: together
    # they would come to nearly as many sums as there are runs.
    by_owners: list[tuple[UsageGroup, ...]] = [owners]
    if owners and end - begin > DAY:
        by_owners = [(owner,) for owner in owners]
    parts = [_grouped(runs, owners) for owners in by_owners]
    if "worker" in groups:
        parts.append(_grouped(runs, ("worker",)))
    rows = parts[0].union(*parts[1:], all=True) if parts[1:] else parts[0]
    found: dict[Slot, Sums] = {}
    for day, names, *keys, runs_, failed, prompt, completion, cost, unknown in rows:
        sums = Sums(runs_, failed, prompt, completion, cost, unknown)
        if not sums.runs:
            continue  # SQL gives sums of nothing as well if there is but one group
        if names == ",".join(by_owners[0]):  # these have each run once
            add_sums(found, Slot(day, "day", ""), sums)
        for group, key in zip(filter(None, names.split(",")), keys, strict=False):
            add_sums(found, Slot(day, group, key or ""), sums)
    return found


def parts_within(
    team_id: uuid.UUID,
    groups: Collection[UsageGroup],
    since: datetime,
    until: datetime,
    days: Collection[date],
) -> Iterator[tuple[Span, dict[Slot, Sums]]]:
    """Yield what is kept of days of a period that are not among `days`.

    Of each day the part that was kept last.
    """
    parts = UsagePart.objects.for_team(team_id)
    ends = parts.filter(group="day", until__gt=since, until__lte=until)
    newest = {
        part_day(end): end for end in sorted(ends.values_list("until", flat=True))
    }
    spans = {
        end: Span(start_of(day), end)
        for day, end in newest.items()
        if day not in days and since <= start_of(day)
    }
    if not spans:
        return
    found: dict[datetime, dict[Slot, Sums]] = {}
    rows = parts.filter(until__in=list(spans), group__in={"day", *groups})
    for end, group, key, *sums in rows.values_list(
        "until", "group", "key", *Sums._fields
    ):
        found.setdefault(end, {})[Slot(part_day(end), group, key)] = Sums(*sums)
    for end, slots in found.items():  # none of a part that was dropped meanwhile
        yield spans[end], slots


def add_slots(
    left: Mapping[Slot, Sums], right: Mapping[Slot, Sums]
) -> dict[Slot, Sums]:
    """Return the sums of runs of which `left` and `right` have no one in common."""
    found = dict(left)
    for slot, sums in right.items():
        add_sums(found, slot, sums)
    return found


def part_day(until: datetime) -> date:
    """Return the day of which a part until then is kept."""
    return (until.astimezone(UTC) - timedelta.resolution).date()


def start_of(day: date) -> datetime:
    """Return the midnight UTC a day begins with."""
    return datetime.combine(day, time(), UTC)


def days_within(since: datetime, until: datetime) -> tuple[date, date]:
    """Return the first day wholly in a period of UTC, and the one after the last."""
    first, after = since.date(), until.date()
    if first < after and since > start_of(first):
        first += DAY
    return first, after


def _kept_days(
    team_id: uuid.UUID, since: datetime, until: datetime
) -> tuple[datetime, dict[date, Sums]]:
    """Return when the team began at the earliest, and the whole days that are kept."""
    first, after = days_within(since, until)
    kept = UsageDay.objects.for_team(team_id).filter(
        Q(group="day", day__gte=first, day__lt=after) | Q(group=BEGIN)
    )
    begun, days = since, {}
    rows = kept.order_by("day").values_list("group", "day", *Sums._fields)
    for group, day, *sums in rows:
        if group == BEGIN:
            begun = start_of(day)
        else:
            days[day] = Sums(*sums)
    return begun, days


@lru_cache(maxsize=16)
def _kept_groups(
    team_id: uuid.UUID, groups: tuple[UsageGroup, ...], days: tuple[date, ...]
) -> Sequence[tuple[UsageGroup, str, Sums]]:
    """Return the sums of groups over days that are kept, which never change."""
    # Of these very days: others may have been kept since they were read.
    kept = UsageDay.objects.for_team(team_id).filter(group__in=groups, day__in=days)
    return list(_summed(kept, ("group", "key"), _KEPT_SUMS))


def _gaps(since: datetime, until: datetime, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the parts of a period that are not of these spans, which ascend."""
    begin = since
    for span in spans:
        if begin < span.begin:
            yield Span(begin, span.begin)
        begin = max(begin, span.end)
    if begin < until:
        yield Span(begin, until)


def _grouped(runs: QuerySet[Run], by: tuple[UsageGroup, ...]) -> QuerySet[Any, Any]:
    """Return rows of a day, `by` in words, two keys, and sums."""
    names = Value(",".join(by), CharField())
    if by == ("worker",):
        rows, keys = runs.filter(steps__state__in=STATES_CALLED), [F("steps__worker")]
        sums = _STEP_SUMS
    else:
        rows, keys, sums = runs, [_OWNERS[group] for group in by], _RUN_SUMS
    first, second = (*keys, _NO_KEY, _NO_KEY)[:2]
    slots = rows.order_by().annotate(by_names=names, by_first=first, by_second=second)
    return slots.values_list("day", "by_names", "by_first", "by_second").annotate(
        **sums
    )


def _summed(
    rows: QuerySet[Any], by: tuple[str, ...], sums: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield the values of `by`, then the sums of the rows that have them."""
    for values in rows.order_by().values_list(*by).annotate(**sums):
        yield *values[: len(by)], Sums(*values[len(by) :])


def add_sums(found: dict[Any, Sums], key: object, sums: Sums) -> None:
    """Add to the sums of a key, in place."""
    known = found.get(key)
    found[key] = sums if known is None else Sums(*map(add, known, sums))


def _add_slots(
    found: Mapping[UsageGroup, dict[str, Sums]], slots: Mapping[Slot, Sums]
) -> None:
    for slot, sums in slots.items():
        is_day = slot.group == "day"
        add_sums(found[slot.group], slot.day.isoformat() if is_day else slot.key, sums)


def _rows(
    team_id: uuid.UUID,
    group: UsageGroup,
    found: Mapping[UsageGroup, Mapping[str, Sums]],
) -> list[UsageRow]:
    sums = found[group]
    if group == "day":
        return [_row(day, None, sums[day]) for day in sorted(sums)]
    if group == "worker":
        whole = Sums(*map(sum, zip(*found["day"].values(), strict=True)))
        return _worker_rows(sums, whole)
    if group == "member":
        return _named_rows(sums, _names_of_people(team_id, sums), NOBODY)
    keys = ApiKey.objects.for_team(team_id).values_list("id", "name")
    return _named_rows(sums, {id.hex: name for id, name in keys}, NO_KEY)


def _names_of_people(team_id: uuid.UUID, ids: Iterable[str]) -> dict[str, str]:
    """Return the names of members, and of others among `ids` who left the team."""
    names = _names(User.objects.filter(memberships__team_id=team_id))
    left = [id for id in ids if id and id not in names]
    return names | _names(User.objects.filter(id__in=left)) if left else names


def _names(people: QuerySet[User]) -> dict[str, str]:
    # As `User.get_full_name`, for a thousand at once.
    rows = people.values_list("id", "name", "email")
    return {id.hex: name or email for id, name, email in rows}


def _worker_rows(sums: Mapping[str, Sums], whole: Sums) -> list[UsageRow]:
    rows = _dearest_first(_row(name, None, each) for name, each in sums.items())
    rest = Sums(
        prompt_tokens=whole.prompt_tokens - sum(r.prompt_tokens for r in rows),
        completion_tokens=whole.completion_tokens
        - sum(r.completion_tokens for r in rows),
        cost_micros=whole.cost_micros - sum(r.cost_micros for r in rows),
    )
    is_any = rest.prompt_tokens or rest.completion_tokens or rest.cost_micros
    if not is_any:
        return rows
    row = _row(PLANNING, None, rest)
    is_unknown = _is_rest_unknown(rest, whole, sums.values())
    return [*rows, replace(row, runs=None, has_unknown_cost=is_unknown)]


def _is_rest_unknown(rest: Sums, whole: Sums, workers: Iterable[Sums]) -> bool:
    """Say whether what no worker's step cost is not wholly known.

    Sums do not tell which call of a run has no price. It was surely none of a worker's
    if more runs are of unknown cost than steps are; and tokens that cost nothing at all
    are rather without a price than free.
    """
    is_more = whole.unknown_costs > sum(each.unknown_costs for each in workers)
    return is_more or bool(whole.unknown_costs and not rest.cost_micros)


def _named_rows(
    sums: Mapping[str, Sums], names: Mapping[str, str], without: str
) -> list[UsageRow]:
    """Return a row for each with a name; those who are gone share one."""
    known: dict[str, Sums] = {}
    for key, each in sums.items():
        add_sums(known, key if key in names else "", each)
    return _dearest_first(
        _row(names.get(key, without), uuid.UUID(key) if key else None, each)
        for key, each in known.items()
    )


def _dearest_first(rows: Iterable[UsageRow]) -> list[UsageRow]:
    return sorted(rows, key=lambda row: (-row.cost_micros, row.label))


def _row(label: str, id: uuid.UUID | None, sums: Sums) -> UsageRow:
    return UsageRow(
        label=label,
        id=id,
        runs=sums.runs,
        failed=sums.failed,
        prompt_tokens=sums.prompt_tokens,
        completion_tokens=sums.completion_tokens,
        cost_micros=sums.cost_micros,
        has_unknown_cost=bool(sums.unknown_costs),
    )
