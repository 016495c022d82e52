"""Usage: cost and tokens by day, worker, member and key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta

from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.console.chart import chart_of
from apps.console.forms.budgets import USAGE_DAYS, UsageForm
from apps.console.layout import console_page
from apps.engine.usage import Cost
from apps.runs.services import usage_report
from apps.runs.types import UsageGroup, UsageRow
from apps.web.team_access import TeamRequest, team_view

GROUPS: tuple[tuple[UsageGroup, str, str], ...] = (
    ("worker", "Workers", "Worker"),
    ("member", "Members", "Member"),
    ("key", "API keys", "API key"),
)
"""Grouping, title of the part, head of its first column."""


SHOWN = 50
"""The dearest rows of a grouping that are shown at first; the others become one row."""


@dataclass(frozen=True, slots=True)
class Table:
    """The usage of one grouping."""

    title: str
    head: str
    """Of the first column."""
    group: UsageGroup
    rows: Sequence[tuple[UsageRow, Cost]]
    total: int
    """How many there are, shown or not."""
    is_short: bool
    """True: the last row stands for several."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the period."""

    runs: int
    failed: int
    tokens: int
    cost: Cost


@require_GET
@team_view
def usage_page(request: TeamRequest) -> HttpResponseBase:
    """Show what the team used in a period."""
    form = UsageForm(request.GET)
    form.is_valid()
    now = timezone.now().astimezone(UTC)
    since, until = form.since(now), now + timedelta(seconds=1)
    usage = usage_report(
        team_id=request.team.id,
        groups=("day", *(group for group, _, _ in GROUPS)),
        since=since,
        until=until,
    )
    days = usage["day"]
    context = {
        "chosen": str(form.chosen_days),
        "choices": USAGE_DAYS.items(),
        "totals": _totals(days),
        "by_day": _priced(reversed(days)),
        "chart": chart_of(days, since.date(), now.date()),
        "tables": [
            _table(title, head, group, usage[group], form.shows_all)
            for group, title, head in GROUPS
        ],
    }
    return console_page(request, "console/usage.html", context, tab="usage")


def _table(
    title: str,
    head: str,
    group: UsageGroup,
    rows: Sequence[UsageRow],
    shows_all: bool,
) -> Table:
    total = len(rows)
    is_short = total > SHOWN + 1 and not shows_all
    if is_short:
        rows = [*rows[:SHOWN], _together(rows[SHOWN:])]
    return Table(title, head, group, _priced(rows), total, is_short)


def _together(rows: Sequence[UsageRow]) -> UsageRow:
    return UsageRow(
        label=f"{len(rows):,} others",
        id=None,
        runs=sum(row.runs or 0 for row in rows),
        failed=sum(row.failed for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        cost_micros=sum(row.cost_micros for row in rows),
        has_unknown_cost=any(row.has_unknown_cost for row in rows),
    )


def _priced(rows: Iterable[UsageRow]) -> list[tuple[UsageRow, Cost]]:
    return [(row, Cost(row.cost_micros, row.has_unknown_cost)) for row in rows]


def _totals(days: Sequence[UsageRow]) -> Totals:
    return Totals(
        runs=sum(day.runs or 0 for day in days),
        failed=sum(day.failed for day in days),
        tokens=sum(day.prompt_tokens + day.completion_tokens for day in days),
        cost=Cost(
            sum(day.cost_micros for day in days),
            any(day.has_unknown_cost for day in days),
        ),
    )
