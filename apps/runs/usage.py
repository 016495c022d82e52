"""What a team used, by day, worker, member or key.

Days that are over are summed once and kept (`usage_days.py`); the rest of a period is
summed from rows of runs and steps whenever it is read. A day's kept sums never change,
because its runs have ended; names are looked up when read, so they are today's.

Rows of every grouping add up to the team's whole cost: what is no worker's (planning,
and calls that were cut off) has a row of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from operator import add
from typing import Any, NamedTuple

from django.db.models import CharField, Count, DateField, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, TruncDate
from django.utils import timezone

from apps.accounts.models import ApiKey, User
from apps.core.ids import first_id
from apps.runs.models import Run, RunState, UsageDay
from apps.runs.types import UsageGroup, UsageRow

PLANNING = "Planning and cut-off calls"
NOBODY = "Nobody any more"
NO_KEY = "Without a key"
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 2, tzinfo=UTC)
"""No run is older."""
ID_SLACK = timedelta(days=1)
"""How much older an id may yet seem if the clock is put forward as the run begins."""


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


_RUN_SUMS: Mapping[str, Any] = {
    "sum_runs": Count("id"),
    "sum_failed": Count("id", filter=Q(state=RunState.FAILED)),
    "sum_prompt": Sum("prompt_tokens", default=0),
    "sum_completion": Sum("completion_tokens", default=0),
    "sum_cost": Sum("cost_micros", default=0),
    "sum_unknown": Count("id", filter=Q(has_unknown_cost=True)),
}
_STEP_SUMS: Mapping[str, Any] = {
    "sum_runs": Count("id", distinct=True),
    "sum_failed": Count("steps", filter=Q(steps__state="failed")),
    "sum_prompt": Sum("steps__prompt_tokens", default=0),
    "sum_completion": Sum("steps__completion_tokens", default=0),
    "sum_cost": Sum("steps__cost_micros", default=0),
    "sum_unknown": Count("steps", filter=Q(steps__cost_micros=None)),
}
_CALLED = ("completed", "failed")
"""States of steps that asked their worker."""
_KEPT_SUMS: Mapping[str, Any] = {f"sum_{name}": Sum(name) for name in Sums._fields}
# As text: thousands of UUID objects would cost more than the sums themselves.
_OWNERS: Mapping[UsageGroup, Any] = {
    "member": Cast("user_id", CharField()),
    "key": Cast("api_key_id", CharField()),
}


def usage_rows(
    team_id: uuid.UUID,
    groups: Collection[UsageGroup],
    since: datetime,
    until: datetime,
) -> dict[UsageGroup, list[UsageRow]]:
    """Return a team's usage of runs that began from `since` to before `until`."""
    since, until = since.astimezone(UTC), until.astimezone(UTC)
    found: dict[UsageGroup, dict[str, Sums]] = {group: {} for group in ("day", *groups)}
    whole_days = dict(_kept_days(team_id, since, until))
    found["day"] = {day.isoformat(): s for day, s in whole_days.items() if s.runs}
    for group, key, sums in _kept_groups(team_id, groups, whole_days):
        _add(found[group], key, sums)
    for begin, end in _gaps(since, until, whole_days):
        found_here = sums_by_day(runs_between(team_id, begin, end), groups)
        for slot, sums in found_here.items():
            is_day = slot.group == "day"
            _add(found[slot.group], slot.day.isoformat() if is_day else slot.key, sums)
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


def sums_by_day(
    runs: QuerySet[Run], groups: Collection[UsageGroup]
) -> dict[Slot, Sums]:
    """Return the sums of `groups`, and of days in any case, from rows of runs."""
    found: dict[Slot, Sums] = {}
    owners = {group: _OWNERS[group] for group in groups if group in _OWNERS}
    owned = runs.annotate(**owners)
    for day, *ids, sums in _summed(owned, ("day", *owners), _RUN_SUMS):
        if not sums.runs:
            continue  # SQL gives sums of nothing as well if there is but one group
        _add(found, Slot(day, "day", ""), sums)
        for group, id in zip(owners, ids, strict=True):
            _add(found, Slot(day, group, (id or "").replace("-", "")), sums)
    if "worker" in groups:
        steps = runs.filter(steps__state__in=_CALLED)
        for day, worker, sums in _summed(steps, ("day", "steps__worker"), _STEP_SUMS):
            found[Slot(day, "worker", worker)] = sums
    return found


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
) -> Iterator[tuple[date, Sums]]:
    first, after = days_within(since, until)
    kept = UsageDay.objects.for_team(team_id).filter(
        group="day", day__gte=first, day__lt=after
    )
    for day, *sums in kept.order_by("day").values_list("day", *Sums._fields):
        yield day, Sums(*sums)


def _kept_groups(
    team_id: uuid.UUID, groups: Collection[UsageGroup], days: Collection[date]
) -> Iterator[tuple[UsageGroup, str, Sums]]:
    others = [group for group in groups if group != "day"]
    if others and days:
        # Of these very days: others may have been kept since they were read.
        kept = UsageDay.objects.for_team(team_id).filter(
            group__in=others, day__in=list(days)
        )
        yield from _summed(kept, ("group", "key"), _KEPT_SUMS)


def _gaps(
    since: datetime, until: datetime, days: Iterable[date]
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the parts of a period that are not of these days, which ascend."""
    begin = since
    for day in days:
        midnight = start_of(day)
        if begin < midnight:
            yield begin, midnight
        begin = midnight + DAY
    if begin < until:
        yield begin, until


def _summed(
    rows: QuerySet[Any], by: tuple[str, ...], sums: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield the values of `by`, then the sums of the rows that have them."""
    for values in rows.order_by().values_list(*by).annotate(**sums):
        yield *values[: len(by)], Sums(*values[len(by) :])


def _add(found: dict[Any, Sums], key: object, sums: Sums) -> None:
    known = found.get(key)
    found[key] = sums if known is None else Sums(*map(add, known, sums))


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
    return {user.id.hex: user.get_full_name() for user in people.only("name", "email")}


def _worker_rows(sums: Mapping[str, Sums], whole: Sums) -> list[UsageRow]:
    rows = _dearest_first(_row(name, None, each) for name, each in sums.items())
    rest = Sums(
        runs=whole.runs,
        prompt_tokens=whole.prompt_tokens - sum(r.prompt_tokens for r in rows),
        completion_tokens=whole.completion_tokens
        - sum(r.completion_tokens for r in rows),
        cost_micros=whole.cost_micros - sum(r.cost_micros for r in rows),
    )
    is_any = rest.prompt_tokens or rest.completion_tokens or rest.cost_micros
    return [*rows, _row(PLANNING, None, rest)] if is_any else rows


def _named_rows(
    sums: Mapping[str, Sums], names: Mapping[str, str], without: str
) -> list[UsageRow]:
    """Return a row for each with a name; those who are gone share one."""
    known: dict[str, Sums] = {}
    for key, each in sums.items():
        _add(known, key if key in names else "", each)
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
