"""Usage: cost and tokens by day, worker, member and key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta

from django.http.response import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_GET

from apps.console.chart import chart_of
from apps.console.forms.budgets import USAGE_DAYS, UsageForm
from apps.console.layout import console_page
from apps.console.usage_file import Usage, usage_csv, usage_jsonl
from apps.engine.usage import Cost
from apps.runs.services import usage_report
from apps.runs.types import NO_KEY, NOBODY, PLANNING, UsageGroup, UsageRow
from apps.web.team_access import TeamRequest, team_view

GROUPS: tuple[tuple[UsageGroup, str, str], ...] = (
    ("worker", _("Workers"), _("Worker")),
    ("member", _("Members"), _("Member")),
    ("key", _("API keys"), _("API key")),
)
"""Grouping, title of the part, head of its first column."""


COLLECTED = {PLANNING, NOBODY, NO_KEY}
"""Labels that are no names."""
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


@dataclass(frozen=True, slots=True)
class UsageAsked:
    """A period, and what was used in it."""

    form: UsageForm
    first: date
    last: date
    usage: Usage


@require_GET
@team_view
def usage_page(request: TeamRequest) -> HttpResponseBase:
    """Show what the team used in a period."""
    asked = _asked(request)
    form, usage = asked.form, asked.usage
    days = usage["day"]
    context = {
        "chosen": str(form.chosen_days),
        "choices": USAGE_DAYS.items(),
        "totals": _totals(days),
        "by_day": _priced(reversed(days)),
        "chart": chart_of(days, asked.first, asked.last),
        "tables": [
            _table(title, head, group, usage[group], form.shows_all)
            for group, title, head in GROUPS
        ],
    }
    return console_page(request, "console/usage.html", context, tab="usage")


@require_GET
@team_view
def usage_file(request: TeamRequest, form: str) -> HttpResponseBase:
    """Return all rows of the page's period as a file, `csv` or `jsonl`."""
    asked = _asked(request)
    is_csv = form == "csv"
    content = usage_csv(asked.usage) if is_csv else usage_jsonl(asked.usage)
    name = f"usage-{asked.first}-{asked.last}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    kind = "text/csv; charset=utf-8" if is_csv else "application/jsonl"
    return HttpResponse(content, content_type=kind, headers=headers)


def _asked(request: TeamRequest) -> UsageAsked:
    form = UsageForm(request.GET)
    form.is_valid()
    now = timezone.now().astimezone(UTC)
    since = form.since(now)
    usage = usage_report(
        team_id=request.team.id,
        groups=("day", *(group for group, _, _ in GROUPS)),
        since=since,
        until=now + timedelta(seconds=1),
    )
    return UsageAsked(form, since.date(), now.date(), usage)


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
    return Table(gettext(title), gettext(head), group, _priced(rows), total, is_short)


def _together(rows: Sequence[UsageRow]) -> UsageRow:
    return UsageRow(
        label=gettext("%(number)s others") % {"number": f"{len(rows):,}"},
        id=None,
        runs=sum(row.runs or 0 for row in rows),
        failed=sum(row.failed for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        cost_micros=sum(row.cost_micros for row in rows),
        has_unknown_cost=any(row.has_unknown_cost for row in rows),
    )


def _priced(rows: Iterable[UsageRow]) -> list[tuple[UsageRow, Cost]]:
    return [
        (
            replace(row, label=gettext(row.label)) if row.label in COLLECTED else row,
            Cost(row.cost_micros, row.has_unknown_cost),
        )
        for row in rows
    ]


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
