"""Evaluations: import suites, start one, watch it, read its report and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.console.ab_rows import ab_row
from apps.console.evaluation_rows import EvaluationRow, evaluation_rows, report_view
from apps.console.forms.evaluations import CalibrationForm, EvaluationForm, SuiteForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.console.shadow_rows import shadow_row
from apps.evaluation.ab.selectors import ab_list
from apps.evaluation.comparison import compare
from apps.evaluation.models import GRADED, Evaluation, ResultState, SuiteVersion
from apps.evaluation.report import report_make, result_rows
from apps.evaluation.report_formats import (
    report_markdown,
    report_values,
    results_csv,
)
from apps.evaluation.selectors import (
    access_evaluation,
    access_suite,
    access_suite_by_id,
    evaluation_list,
    evaluation_progress,
    newest_version,
    results_of,
    suite_list,
)
from apps.evaluation.services import (
    EvaluationEstimate,
    evaluation_cancel,
    evaluation_estimate,
    evaluation_start,
    suite_delete,
    suite_import,
)
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.shadow.selectors import mirrored_of, shadow_list
from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from apps.pools.selectors import access_pool, pool_list, pool_snapshot
from apps.web.downloads import download
from apps.web.team_access import TeamRequest, team_view

TAB = "evaluations"
SHOWN = 50
"""Evaluations of the list, the newest."""
RESULTS_SHOWN = 200
LIVE_RESULTS = 20_000
"""The report of a larger evaluation is shown when it has ended: it takes a second."""
FORMATS = {"json": "application/json", "md": "text/markdown", "csv": "text/csv"}


@require_GET
@team_view
def evaluation_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's evaluations and suites."""
    require(request, Permission.READ_RUNS)
    team_id = request.team.id
    rows = evaluation_rows(evaluation_list(team_id)[:SHOWN])
    context = {
        "rows": rows,
        "is_busy": any(row.is_open for row in rows),
        "suites": [newest_version(suite) for suite in suite_list(team_id)],
        "shadows": [
            shadow_row(test, mirrored_of(test).count())
            for test in shadow_list(team_id)[:SHOWN]
        ],
        "ab_tests": [ab_row(test) for test in ab_list(team_id)[:SHOWN]],
    }
    return console_page(request, "console/evaluations.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def suite_new(request: TeamRequest) -> HttpResponseBase:
    """Import a file of tasks as the newest version of a suite."""
    require(request, Permission.MANAGE_POOLS)
    form = SuiteForm(posted(request), request.FILES if posted(request) else None)
    if form.is_bound and form.is_valid():
        version = _imported(request, form)
        if version is not None:
            messages.success(
                request,
                f"{version.suite.name}, version {version.number}: "
                f"{version.task_count} tasks.",
            )
            return redirect("console:evaluation_list")
    context = {"form": form}
    status = 400 if form.is_bound else 200
    return console_page(
        request, "console/suite_new.html", context, tab=TAB, status=status
    )


def _imported(request: TeamRequest, form: SuiteForm) -> SuiteVersion | None:
    file = form.cleaned_data["file"]
    try:
        benchmark = form.cleaned_data["benchmark"]
        tasks = tasks_read(file.read(), file.name, benchmark)
    except UnreadableSuite as exc:
        for fault in exc.faults:
            form.add_error("file", f"Line {fault.line}: {fault.why}.")
        return None
    return try_change(
        form,
        lambda: suite_import(
            team=request.team,
            name=form.cleaned_data["name"],
            tasks=tasks,
            actor=request.actor,
        ),
    )


@require_http_methods(["GET", "POST"])
@team_view
def suite_delete_page(request: TeamRequest, suite_id: UUID) -> HttpResponseBase:
    """Delete a suite, after asking."""
    require(request, Permission.MANAGE_POOLS)
    suite = access_suite_by_id(team_id=request.team.id, suite_id=suite_id)
    back = reverse("console:evaluation_list")
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: suite_delete(suite=suite, actor=request.actor),
            f"The suite {suite.name} is deleted.",
            back,
        )
    context = {
        "title": f"Delete the suite {suite.name}?",
        "points": [
            "Its tasks, its evaluations and their results are deleted.",
            "The runs stay, and so does what the ledger says of the evaluations.",
        ],
        "label": "Delete",
        "back": back,
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def evaluation_new(request: TeamRequest) -> HttpResponseBase:
    """Start an evaluation."""
    require(request, Permission.MANAGE_POOLS)
    team_id = request.team.id
    suites = [suite.name for suite in suite_list(team_id)]
    pools = {pool.name: pool for pool in pool_list(team_id)}
    if not suites or not pools:
        missing = "a suite of tasks" if not suites else "a pool"
        messages.info(request, f"An evaluation needs {missing} first.")
        return redirect("console:suite_new" if not suites else "console:pool_list")
    asked = request.POST.get("pool") or request.GET.get("pool")
    chosen = asked or next(
        (pool.name for pool in pools.values() if pool.is_default), next(iter(pools))
    )
    snapshot = pool_snapshot(team_id, chosen if chosen in pools else None)
    workers = [worker.name for worker in snapshot.chat_workers]
    initial = {"pool": snapshot.name, "worker": snapshot.fallback}
    if request.GET.get("suite") in suites:
        initial["suite"] = request.GET["suite"]
    form = EvaluationForm(
        posted(request), initial=initial, suites=suites, pools=[*pools], workers=workers
    )
    return _order_page(
        request,
        form,
        lambda version: form.values(snapshot),
        title="New evaluation",
        lead="Its runs are yours: they pass the policy, count towards budgets and "
        "rates, and are in the ledger.",
    )


@require_http_methods(["GET", "POST"])
@team_view
def calibration_new(request: TeamRequest, pool_id: UUID) -> HttpResponseBase:
    """Measure workers of a pool on a suite: their profiles come of it."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    suites = [suite.name for suite in suite_list(request.team.id)]
    if not suites:
        messages.info(request, "A calibration needs a suite of tasks first.")
        return redirect("console:suite_new")
    workers = pool_snapshot(request.team.id, pool.name).chat_workers
    names = [worker.name for worker in workers]
    unmeasured = [worker.name for worker in workers if not worker.measured]
    asked = [name for name in names if name == request.GET.get("worker")]
    form = CalibrationForm(
        posted(request),
        initial={"workers": asked or unmeasured or names},
        suites=suites,
        workers=names,
    )
    return _order_page(
        request,
        form,
        lambda version: form.values(version, pool.name),
        title=f"Calibrate workers of {pool.name}",
        lead="Each worker answers training tasks of a suite, once. How often it is "
        "right, what it costs and how long it takes becomes its profile, instead of "
        "the one it has.",
    )


def _order_page(
    request: TeamRequest,
    form: EvaluationForm | CalibrationForm,
    values: Callable[[SuiteVersion], dict[str, Any]],
    *,
    title: str,
    lead: str,
) -> HttpResponseBase:
    """Show the form of an evaluation; estimate it or start it if it was sent."""
    estimate = None
    if form.is_bound and form.is_valid():
        suite = access_suite(team_id=request.team.id, name=form.cleaned_data["suite"])
        version = newest_version(suite)
        if "estimate" in request.POST:
            estimate = try_change(form, lambda: _estimated(version, values(version)))
        elif made := try_change(
            form,
            lambda: evaluation_start(
                version=version,
                values=values(version),
                principal=request.principal,
                actor=request.actor,
            ),
        ):
            return redirect("console:evaluation", made.id)
    context = {"form": form, "estimate": estimate, "title": title, "lead": lead}
    status = 400 if form.errors else 200
    return console_page(
        request, "console/evaluation_new.html", context, tab=TAB, status=status
    )


def _estimated(version: SuiteVersion, values: dict[str, Any]) -> EvaluationEstimate:
    return evaluation_estimate(version=version, values=values)


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
    """List results, each with its run: of one system, family or state."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    chosen = EvaluationSettings.model_validate(evaluation.settings)
    labels = [each.label for each in chosen.systems]
    rows = results_of(evaluation).filter(state__in=GRADED)
    system = request.GET.get("system", "")
    family, state = request.GET.get("family", ""), request.GET.get("state", "")
    if system.isdecimal() and int(system) < len(labels):
        rows = rows.filter(system=int(system))
    if family:
        rows = rows.filter(task__family=family)
    if state in ResultState.values:
        rows = rows.filter(state=state)
    found = list(rows.select_related("task").order_by("place")[: RESULTS_SHOWN + 1])
    context = {
        "evaluation": evaluation,
        "rows": [(labels[each.system], each) for each in found[:RESULTS_SHOWN]],
        "is_cut": len(found) > RESULTS_SHOWN,
        "most": RESULTS_SHOWN,
        "labels": list(enumerate(labels)),
        "system": system,
        "family": family,
        "state": state,
        "states": [(each.value, each.label) for each in GRADED],
    }
    return console_page(request, "console/evaluation_results.html", context, tab=TAB)


@require_GET
@team_view
def evaluation_comparison(
    request: TeamRequest, evaluation_id: UUID
) -> HttpResponseBase:
    """Show an evaluation beside another one of the same suite."""
    require(request, Permission.READ_RUNS)
    evaluation = access_evaluation(team_id=request.team.id, evaluation_id=evaluation_id)
    suite_id = evaluation.version.suite.id
    of_suite = evaluation_list(request.team.id).filter(version__suite=suite_id)
    others = list(of_suite.exclude(id=evaluation.id)[:SHOWN])
    chosen = request.GET.get("with", "")
    earlier = next(
        (other for other in others if str(other.id) == chosen),
        others[0] if others else None,
    )
    pair = sorted((each for each in (evaluation, earlier) if each), key=lambda e: e.id)
    context = {
        "evaluation": evaluation,
        "others": others,
        "earlier": earlier,
        "systems": compare(*pair) if len(pair) == 2 else (),
        "most": f":{RESULTS_SHOWN}",
    }
    return console_page(request, "console/evaluation_comparison.html", context, tab=TAB)


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


@require_POST
@team_view
def evaluation_cancel_action(
    request: TeamRequest, evaluation_id: UUID
) -> HttpResponseBase:
    """Cancel an evaluation."""
    require(request, Permission.MANAGE_POOLS)
    evaluation: Evaluation = access_evaluation(
        team_id=request.team.id, evaluation_id=evaluation_id
    )
    return change_and_tell(
        request,
        lambda: evaluation_cancel(evaluation=evaluation, actor=request.actor),
        "No further run begins; those in progress are stopped.",
        reverse("console:evaluation", args=[evaluation.id]),
    )
