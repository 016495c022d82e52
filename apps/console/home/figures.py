"""The figures of the home page: today beside the days before, money, health."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from django.urls import reverse
from django.utils.translation import gettext as _

from apps.console.budget_rows import BudgetRow
from apps.console.insight_charts import DayChart, DayScale, bar_chart
from apps.console.insight_rows import (
    QueryLine,
    counted_url,
    day_lines,
    percent,
    query_charts,
)
from apps.console.pool_pages.health_words import state_word
from apps.console.pool_rows import WorkerRow
from apps.engine.usage import Cost
from apps.insights.selectors import query_report
from apps.insights.types import Inquiry, QueryFigures
from apps.runs.models import Run, RunState
from apps.runs.selectors import run_list, usage_by
from apps.runs.types import RunFilters, UsageRow
from apps.web import formats
from apps.web.run_addresses import BY_CALLERS, sources_of

DAYS = 14
"""Days in the charts, today included."""
MIN_CHART_DAYS = 2
"""With runs on fewer days a chart of days would be one bar."""
NEWEST_RUNS = 6
"""Listed where there are no charts yet."""
BUDGETS_SHOWN = 4
SHOWN_CHARTS = ("latency",)
"""Of the charts of insights."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, with the list or report that it leads to."""

    label: str
    text: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Runs of today and of the days before."""

    figures: Sequence[Figure]
    charts: Sequence[DayChart]
    days: Sequence[QueryLine]
    """The table behind the charts, newest first."""
    is_complete: bool
    """False: runs of some days are still being summed."""
    newest: Sequence[Run]
    """The newest runs of people and API clients, where there are no charts yet."""


def run_figures(team_id: uuid.UUID, now: datetime) -> RunFigures:
    """Return what the team's runs of the last days come to; `now` is of UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    until = now + timedelta(seconds=1)
    asked = Inquiry(team_id, midnight - timedelta(days=DAYS - 1), until)
    today = replace(asked, since=midnight)
    report = query_report(asked, "day")
    rows = {date.fromisoformat(row.key): row for row in report.days}
    if len(rows) < MIN_CHART_DAYS:
        callers = RunFilters(sources=sources_of(BY_CALLERS))
        newest = run_list(team_id=team_id, filters=callers)[:NEWEST_RUNS]
        figures = _of_today(today, rows.get(now.date()))
        return RunFigures(figures, (), (), report.is_complete, tuple(newest))
    runs = bar_chart(
        "runs",
        _("Runs"),
        _("ended, of people and API clients"),
        DayScale(asked.first_day, asked.last_day, formats.count),
        {day: row.runs for day, row in rows.items()},
    )
    others = query_charts(asked, report.days, ())
    return RunFigures(
        figures=_of_today(today, rows.get(now.date())),
        charts=[runs, *(each for each in others if each.name in SHOWN_CHARTS)],
        days=day_lines(report, asked),
        is_complete=report.is_complete,
        newest=(),
    )


def _of_today(today: Inquiry, row: QueryFigures | None) -> list[Figure]:
    failed, runs = (row.failed, row.runs) if row else (0, 0)
    latency = row.latency_ms if row else None
    insights = reverse("console:insights")
    return [
        Figure(_("Runs today"), formats.count(runs), counted_url(today)),
        Figure(
            _("Failed today"),
            formats.count(failed),
            counted_url(today, state=RunState.FAILED),
            percent(row.failed_share) if row and failed else "",
        ),
        Figure(
            _("Latency today, median"),
            formats.duration(latency.median if latency else None),
            insights,
        ),
        Figure(
            _("Latency today, 95th percentile"),
            formats.duration(latency.p95 if latency else None),
            insights,
        ),
    ]


def money_figures(team_id: uuid.UUID, now: datetime) -> list[Figure]:
    """Return what was spent today and this month; `now` is of UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    since, until = midnight.replace(day=1), now + timedelta(seconds=1)
    rows = usage_by(team_id, "day", since, until)
    today = [row for row in rows if row.label == now.date().isoformat()]
    url = reverse("console:usage")
    return [
        Figure(_("Spent today"), formats.cost(_sum(today)), url, _("with tests")),
        Figure(_("Spent this month"), formats.cost(_sum(rows)), url),
    ]


def most_used(budgets: Iterable[BudgetRow]) -> list[BudgetRow]:
    """Return the budgets of a period that are used most."""
    timed = [row for row in budgets if row.status.resets_at is not None]
    return sorted(timed, key=lambda row: -(row.spent + row.reserved))[:BUDGETS_SHOWN]


def health_counts(workers: Iterable[WorkerRow]) -> list[tuple[str, str, int]]:
    """Return how many workers are in each state, the most common first.

    Each is a value of `HealthState`, its word and the number.
    """
    counted = Counter(row.health.state for row in workers).most_common()
    return [(str(state), state_word(state), number) for state, number in counted]


def _sum(rows: Sequence[UsageRow]) -> Cost:
    return Cost(
        sum(row.cost_micros for row in rows), any(row.has_unknown_cost for row in rows)
    )
