"""Insights: what queries cost, which faults happen, which plans are made."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from apps.console.forms.budgets import USAGE_DAYS
from apps.console.forms.insights import GROUP_TITLES, GROUP_WORDS, InsightsForm
from apps.console.insight_charts import DayScale, bar_chart
from apps.console.insight_rows import (
    SHOWN,
    counted_url,
    day_lines,
    fault_line,
    odd_days,
    query_charts,
    query_lines,
    shape_line,
    totals,
)
from apps.console.layout import console_page
from apps.evaluation.reports.headline import headline
from apps.insights.csv_files import faults_csv, queries_csv, shapes_csv
from apps.insights.selectors import (
    anomaly_list,
    efficiency_audit,
    fault_report,
    query_report,
    shape_report,
)
from apps.insights.types import Inquiry
from apps.runs.models import RunState
from apps.web.formats import count
from apps.web.team_access import TeamRequest, team_view

TAB = "insights"


@require_GET
@team_view
def insights_page(request: TeamRequest) -> HttpResponseBase:
    """Show what the team's queries used in a period, beside a baseline."""
    form, asked = _asked(request)
    group = form.group_chosen
    report = query_report(asked, group)
    anomalies = anomaly_list(asked, report)
    context = {
        "found": headline(request.team.id),
        "report": report,
        "group_word": _(GROUP_WORDS[group]),
        "group_title": _(GROUP_TITLES[group]),
        "group_choices": [(name, _(word)) for name, word in GROUP_TITLES.items()],
        "lines": query_lines(report, asked),
        "hidden": max(len(report.rows) - SHOWN, 0) if group != "day" else 0,
        "day_lines": day_lines(report, asked),
        "totals": totals(report),
        "charts": query_charts(asked, report.days, anomalies),
        "odd_days": odd_days(asked, anomalies),
        "audit": efficiency_audit(asked, report.total, form.worker_chosen),
        "is_complete": report.is_complete,
        "has_runs": report.total.runs,
    }
    return _page(request, "console/insights.html", form, "queries", context)


@require_GET
@team_view
def insights_failures(request: TeamRequest) -> HttpResponseBase:
    """Show which faults and loops happened in a period, and what became of them."""
    form, asked = _asked(request)
    report = fault_report(asked)
    by_day: dict[Any, int | None] = {}
    for fault in report.faults:
        for day, number in fault.by_day.items():
            by_day[day] = (by_day.get(day) or 0) + number
    scale = DayScale(asked.first_day, asked.last_day, count)
    context = {
        "report": report,
        "faults": [fault_line(asked, each) for each in report.faults],
        "loops": [fault_line(asked, each) for each in report.loops],
        "chart": bar_chart("faults", _("Faults by day"), _("all kinds"), scale, by_day),
        "by_day": sorted(by_day.items(), reverse=True),
        "failed_url": counted_url(asked, state=RunState.FAILED),
        "trend_width": asked.days - 1 or 1,
        "is_complete": report.is_complete,
        "has_runs": report.runs,
    }
    return _page(request, "console/insights_failures.html", form, "failures", context)


@require_GET
@team_view
def insights_plans(request: TeamRequest) -> HttpResponseBase:
    """Show the most common graphs of plans, their success and their cost."""
    form, asked = _asked(request)
    report = shape_report(asked)
    context = {
        "lines": [shape_line(asked, row, report.runs) for row in report.rows[:SHOWN]],
        "hidden": max(len(report.rows) - SHOWN, 0),
        "is_complete": report.is_complete,
        "has_runs": report.runs,
    }
    return _page(request, "console/insights_plans.html", form, "plans", context)


@require_GET
@team_view
def insights_file(request: TeamRequest, part: str) -> HttpResponseBase:
    """Return the figures of a page as CSV: all rows of its period and grouping."""
    form, asked = _asked(request)
    if part == "queries":
        text = queries_csv(query_report(asked, form.group_chosen, most=None))
    elif part == "failures":
        text = faults_csv(fault_report(asked))
    else:
        text = shapes_csv(shape_report(asked))
    name = f"insights-{part}-{asked.first_day}-{asked.last_day}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


def _asked(request: TeamRequest) -> tuple[InsightsForm, Inquiry]:
    form = InsightsForm(request.GET)
    return form, form.asked(request.team.id, timezone.now().astimezone(UTC))


def _page(
    request: TeamRequest,
    template: str,
    form: InsightsForm,
    part: str,
    context: dict[str, Any],
) -> HttpResponse:
    frame = {
        "form": form,
        "part": part,
        "day_choices": [(days, _(str(word))) for days, word in USAGE_DAYS.items()],
        "days": str(form.days_chosen),
        "address": form.address(),
        "file_address": form.address(group=form.group_chosen),
    }
    return console_page(request, template, {**frame, **context}, tab=TAB)
