"""One evaluation: how far it is, its report, its results, and another beside it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode
from uuid import UUID

import orjson
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.console.evaluations.evaluation_rows import EvaluationRow, report_view
from apps.console.evaluations.slope_chart import slope_chart
from apps.console.layout import change_and_tell, console_page, require
from apps.engine.errors import PlanFault
from apps.evaluation.models import GRADED, Evaluation
from apps.evaluation.reports.comparison import compare, others_of, shared_systems
from apps.evaluation.reports.inspect_log import inspect_log, inspect_name
from apps.evaluation.reports.report import report_make, result_rows
from apps.evaluation.reports.report_formats import report_values, results_csv
from apps.evaluation.reports.report_markdown import report_markdown
from apps.evaluation.reports.result_filters import (
    ORACLE,
    REJECTED,
    WITHOUT,
    ResultFilters,
    results_found,
)
from apps.evaluation.selectors import access_evaluation, evaluation_progress
from apps.evaluation.services import evaluation_cancel
from apps.evaluation.settings import EvaluationSettings
from apps.web.downloads import download
from apps.web.recorded_words import fault_word
from apps.web.team_access import TeamRequest, team_view

TAB = "evaluations"
OTHERS_SHOWN = 50
"""Evaluations of the same suite that one can be compared with, the newest."""
ROWS_PER_PAGE = 100
LIVE_RESULTS = 20_000
"""The report of a larger evaluation is shown when it has ended: it takes a second."""
FORMATS = {"json": "application/json", "md": "text/markdown", "csv": "text/csv"}


@require_GET
@team_view
def evaluation_page(request: TeamRequest, evaluation_id: UUID) -> HttpResponseBase:
    """Show how far an evaluation is, and its report so far."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    row = EvaluationRow(evaluation, evaluation_progress(evaluation))
    is_shown = not row.is_open or row.progress.total <= LIVE_RESULTS
    context = {
        "row": row,
        "evaluation": evaluation,
        "pool": evaluation.settings["pool"],
        "seed": evaluation.settings.get("seed", 0),
        "view": report_view(report_make(evaluation)) if is_shown else None,
    }
    return console_page(request, "console/evaluation.html", context, tab=TAB)


@require_GET
@team_view
def evaluation_results(request: TeamRequest, evaluation_id: UUID) -> HttpResponseBase:
    """List the results behind a figure, each with its run."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    settings = EvaluationSettings.model_validate(evaluation.settings)
    labels = [system.label for system in settings.systems]
    asked = ResultFilters(
        **{
            name: request.GET.get(name, "")
            for name in ("system", "family", "state", "plan", "worker", "against")
        }
    )
    rows = results_found(evaluation, asked)
    found = Paginator(rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    systems = [(str(place), label) for place, label in enumerate(labels)]
    context = {
        "evaluation": evaluation,
        "found": found,
        "rows": [(labels[each.system], each) for each in found],
        "asked": asked,
        "query": urlencode(asked.given),
        "systems": systems,
        "others": [*systems, (ORACLE, _("Oracle: another one is right"))],
        "states": [(each.value, each.label) for each in GRADED],
        "plans": _plan_choices(),
    }
    return console_page(request, "console/evaluation_results.html", context, tab=TAB)


def _plan_choices() -> list[tuple[str, str]]:
    """Return what can be asked about plans, in words."""
    said = _("Rejected plan: {fault}")
    return [
        (WITHOUT, _("Without a plan")),
        (REJECTED, _("Rejected plan")),
        *((each.value, said.format(fault=fault_word(each))) for each in PlanFault),
    ]


@require_GET
@team_view
def evaluation_comparison(
    request: TeamRequest, evaluation_id: UUID
) -> HttpResponseBase:
    """Show an evaluation beside another one of the same suite."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    others = list(others_of(evaluation)[:OTHERS_SHOWN])
    chosen = request.GET.get("with", "")
    other = next(
        (each for each in others if str(each.id) == chosen),
        _likely_other(evaluation, others),
    )
    comparison = compare(evaluation, other) if other else None
    number = request.GET.get("system", "")
    # By its number in the table: two systems may have one name.
    of = None
    if comparison:
        numbered = enumerate(comparison.systems, start=1)
        of = next((each for place, each in numbered if str(place) == number), None)
    changed = (of or comparison).changed if comparison else []
    kept = {"with": other.id if other else "", "system": number if of else ""}
    context = {
        "evaluation": evaluation,
        "others": others,
        "other": other,
        "comparison": comparison,
        "chart": slope_chart(comparison.systems) if comparison else None,
        "label": of.label if of else "",
        "found": Paginator(changed, ROWS_PER_PAGE).get_page(request.GET.get("page")),
        "query": urlencode({name: value for name, value in kept.items() if value}),
    }
    return console_page(request, "console/evaluation_comparison.html", context, tab=TAB)


def _likely_other(
    evaluation: Evaluation, others: Sequence[Evaluation]
) -> Evaluation | None:
    """Return the one that has most systems in common, of several the newest."""
    return max(others, key=partial(shared_systems, evaluation), default=None)


@require_GET
@team_view
def evaluation_file(
    request: TeamRequest, evaluation_id: UUID, form: str
) -> HttpResponseBase:
    """Return the report as JSON or Markdown, or the results as CSV."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    name, kind = f"evaluation-{evaluation.id}.{form}", FORMATS[form]
    report = report_make(evaluation)
    if form == "csv":
        lines = results_csv(report, result_rows(evaluation))
        parts = (line.encode() for line in lines)
        return download(request, parts, name=name, kind=kind)
    written = (
        orjson.dumps(report_values(report), option=orjson.OPT_INDENT_2)
        if form == "json"
        else report_markdown(report).encode()
    )
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(written, content_type=f"{kind}; charset=utf-8", headers=headers)


@require_GET
@team_view
def evaluation_inspect(
    request: TeamRequest, evaluation_id: UUID, place: int
) -> HttpResponseBase:
    """Return what one system did, as a log of Inspect."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    report = report_make(evaluation)
    parts = inspect_log(report, place)
    name = inspect_name(report, place)
    return download(request, parts, name=name, kind=FORMATS["json"])


@require_POST
@team_view
def evaluation_cancel_action(
    request: TeamRequest, evaluation_id: UUID
) -> HttpResponseBase:
    """Cancel an evaluation."""
    require(request, Permission.MANAGE_POOLS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    return change_and_tell(
        request,
        lambda: evaluation_cancel(evaluation=evaluation, actor=request.actor),
        _("No further run begins; those in progress are stopped."),
        reverse("console:evaluation", args=[evaluation.id]),
    )
