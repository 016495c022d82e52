"""Reports what queries used, by day, tier, planner, worker, member and so on."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, QuerySet, Sum
from django.db.models.functions import Cast

from apps.accounts.models import ApiKey, User
from apps.insights.anomalies import LOOKBACK
from apps.insights.histogram import LogHistogram
from apps.insights.models import QueryRow
from apps.insights.periods import PeriodSources, period_of
from apps.insights.stored import HISTOGRAMS, NUMBERS
from apps.insights.sums import QuerySums
from apps.insights.types import (
    PLANNER_WORDS,
    TIER_WORDS,
    Group,
    Inquiry,
    Percentiles,
    QueryFigures,
    QueryReport,
)
from apps.runs.models import Source

SHOWN = 50
"""Rows of a grouping that have percentiles, the dearest."""
NOBODY, NO_KEY, NO_FAMILY = "A former member", "Without a key", "No family"


def query_report(
    asked: Inquiry, group: Group, *, most: int | None = SHOWN
) -> QueryReport:
    """Return what a team's queries of a period used.

    Percentiles are read of the `most` dearest rows alone; None: of all.
    """
    period = period_of(asked)
    # For days that stand out more days before are needed than for the comparison.
    earlier = asked.earlier(max(asked.days, LOOKBACK.days))
    before = period_of(earlier)
    days = sums_by(asked, period, "day")
    earlier_days = sums_by(earlier, before, "day")
    found = days if group == "day" else sums_by(asked, period, group, most=most)
    compared = asked.earlier(asked.days).first_day.isoformat()
    return QueryReport(
        group=group,
        rows=_ordered(group, _named(asked.team_id, group, found)),
        days=_ordered("day", _named(asked.team_id, "day", days)),
        earlier_days=_ordered("day", _named(asked.team_id, "day", earlier_days)),
        total=figures("", "All", together(days.values())),
        before=figures(
            "",
            "Before",
            together(sums for day, sums in earlier_days.items() if day >= compared),
        ),
        is_complete=period.is_complete and before.is_complete,
    )


def sums_by(
    asked: Inquiry, period: PeriodSources, group: Group, *, most: int | None = None
) -> dict[str, QuerySums]:
    """Return the sums of a period by the keys of a group; days as `2030-01-31`.

    Those beyond the `most` dearest have no histograms.
    """
    found: dict[str, QuerySums] = {}
    for day, collected in period.rest.items():
        for slot, sums in collected.queries.items():
            if slot.group == group and (slot.by_callers or asked.with_tests):
                key = day.isoformat() if group == "day" else slot.key
                found.setdefault(key, QuerySums()).merge(sums)
    kept = _Kept(asked.team_id, tuple(period.spans), group, asked.with_tests)
    for place, numbers in _kept_numbers(kept):
        key = _key(place, period.spans, group)
        given: dict[str, Any] = dict(zip(NUMBERS, numbers, strict=True))
        found.setdefault(key, QuerySums()).merge(QuerySums(**given))
    dearest: tuple[str, ...] | None = None
    if most is not None and len(found) > most:
        dearest = tuple(_dearest(found, most))
        for key in found.keys() - set(dearest):
            found[key].forget_values()
    for place, histograms in _kept_histograms(kept, dearest):
        found[_key(place, period.spans, group)].merge(histograms)
    return found


class _Kept(NamedTuple):
    """What is read of spans, whose rows never change."""

    team_id: uuid.UUID
    span_ids: tuple[int, ...]
    group: Group
    with_tests: bool

    @property
    def place(self) -> str:
        """Return the column that tells rows of the group apart."""
        return "span_id" if self.group == "day" else "key"

    def rows(self) -> QuerySet[QueryRow]:
        """Return the rows."""
        rows = QueryRow.objects.for_team(self.team_id).filter(
            span_id__in=self.span_ids, group=self.group
        )
        return rows if self.with_tests else rows.filter(by_callers=True)


@lru_cache(maxsize=64)
def _kept_numbers(kept: _Kept) -> Sequence[tuple[Any, Sequence[int]]]:
    """Return the numbers of each key, or of each span if days are asked for."""
    # PostgreSQL adds up large integers to decimal numbers.
    sums = {
        f"sum_{name}": Cast(Sum(name, default=0), BigIntegerField()) for name in NUMBERS
    }
    rows = kept.rows().order_by().values_list(kept.place).annotate(**sums)
    return [(place, numbers) for place, *numbers in rows]


@lru_cache(maxsize=64)
def _kept_histograms(
    kept: _Kept, keys: tuple[str, ...] | None
) -> Sequence[tuple[Any, QuerySums]]:
    """Return the histograms of these keys, None: of all; their numbers are 0."""
    rows = kept.rows() if keys is None else kept.rows().filter(key__in=keys)
    found: dict[Any, QuerySums] = defaultdict(QuerySums)
    for place, *texts in rows.values_list(kept.place, *HISTOGRAMS):
        for name, text in zip(HISTOGRAMS, texts, strict=True):
            if text:
                getattr(found[place], name).merge(LogHistogram.unpacked(text))
    return list(found.items())


def together(sums: Iterable[QuerySums]) -> QuerySums:
    """Return sums of sums."""
    found = QuerySums()
    for each in sums:
        found.merge(each)
    return found


def figures(key: str, label: str, sums: QuerySums) -> QueryFigures:
    """Return sums as they are shown."""
    return QueryFigures(
        key=key,
        label=label,
        runs=sums.runs,
        failed=sums.failed,
        prompt_tokens=sums.prompt_tokens,
        completion_tokens=sums.completion_tokens,
        cost_micros=sums.cost_micros,
        has_unknown_cost=bool(sums.unknown_costs),
        latency_ms=percentiles(sums.latencies),
        first_token_ms=percentiles(sums.first_tokens),
        cost_each=percentiles(sums.costs),
        based_runs=sums.based_runs,
        based_asked=sums.based_asked,
        based_answered=sums.based_answered,
        based_tokens=sums.based_tokens,
        based_cost_micros=sums.based_cost_micros,
    )


def percentiles(histogram: LogHistogram) -> Percentiles | None:
    """Return the median and the 95th percentile; None: there is no value."""
    median, p95 = histogram.percentile(50), histogram.percentile(95)
    if median is None or p95 is None:
        return None
    return Percentiles(median, p95, histogram.total)


def _key(place: Any, spans: Mapping[int, date], group: Group) -> str:
    return spans[place].isoformat() if group == "day" else str(place)


def _dearest(found: Mapping[str, QuerySums], most: int) -> list[str]:
    keys = sorted(found, key=lambda key: (-found[key].cost_micros, -found[key].runs))
    return keys[:most]


def _named(
    team_id: uuid.UUID, group: Group, found: dict[str, QuerySums]
) -> list[QueryFigures]:
    labels = _labels(team_id, group, found)
    return [figures(key, label, found[key]) for key, label in labels.items()]


def _ordered(group: Group, rows: list[QueryFigures]) -> list[QueryFigures]:
    if group == "day":
        return sorted(rows, key=lambda row: row.key)
    return sorted(rows, key=lambda row: (-row.cost_micros, -row.runs, row.label))


# --- names ---------------------------------------------------------------------------


def _labels(
    team_id: uuid.UUID, group: Group, found: dict[str, QuerySums]
) -> dict[str, str]:
    """Return the names of keys; those who are gone are merged into the empty key."""
    if group in ("member", "key"):
        names = _names_of(team_id, group, found)
        for key in [each for each in found if each and each not in names]:
            found.setdefault("", QuerySums()).merge(found.pop(key))
        without = NOBODY if group == "member" else NO_KEY
        return {key: names.get(key, without) for key in found}
    words: Mapping[str, str] = {
        "tier": TIER_WORDS,
        "planner": PLANNER_WORDS,
        "family": {"": NO_FAMILY},
        "source": {str(each): str(each.label) for each in Source},
    }.get(group, {})
    return {key: words.get(key, key) for key in found}


def _names_of(
    team_id: uuid.UUID, group: Group, keys: Collection[str]
) -> dict[str, str]:
    if group == "key":
        rows = ApiKey.objects.for_team(team_id).values_list("id", "name")
        return {id.hex: name for id, name in rows}
    ids = [uuid.UUID(key) for key in keys if key]
    people = User.objects.filter(id__in=ids).values_list("id", "name", "email")
    return {id.hex: name or email for id, name, email in people}
