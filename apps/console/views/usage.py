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
from apps.console.frame import console_page
from apps.engine.usage import Cost
from apps.runs.selectors import usage_by
from apps.runs.types import UsageGroup, UsageRow
from apps.web.access import TeamRequest, team_view

GROUPS: tuple[tuple[UsageGroup, str, str], ...] = (
    ("worker", "Workers", "Worker"),
    ("member", "Members", "Member"),
    ("key", "API keys", "API key"),
)
"""Grouping, title of the part, head of its first column."""


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
    team_id = request.team.id
    days = usage_by(team_id, "day", since, until)
    context = {
        "chosen": str(form.chosen_days),
        "choices": USAGE_DAYS.items(),
        "totals": _totals(days),
        "by_day": _priced(reversed(days)),
        "chart": chart_of(days, since.date(), now.date()),
        "groups": [
            (title, head, group, _priced(usage_by(team_id, group, since, until)))
            for group, title, head in GROUPS
        ],
    }
    return console_page(request, "console/usage.html", context, tab="usage")


def _priced(rows: Iterable[UsageRow]) -> list[tuple[UsageRow, Cost]]:
    return [(row, Cost(row.cost_micros, row.has_unknown_cost)) for row in rows]


def _totals(days: Sequence[UsageRow]) -> Totals:
    return Totals(
        runs=sum(day.runs for day in days),
        failed=sum(day.failed for day in days),
        tokens=sum(day.prompt_tokens + day.completion_tokens for day in days),
        cost=Cost(
            sum(day.cost_micros for day in days),
            any(day.has_unknown_cost for day in days),
        ),
    )
