"""Evaluations: import and delete suites, list evaluations, start one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson
from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.console.evaluations.ab_rows import ab_row
from apps.console.evaluations.evaluation_rows import evaluation_rows, measured_choices
from apps.console.evaluations.quick_measurement import quick_measurement
from apps.console.evaluations.shadow_rows import shadow_row
from apps.console.evaluations.usual_choices import (
    usual_pool,
    version_choices,
)
from apps.console.forms.evaluations import CalibrationForm, EvaluationForm, SuiteForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.core.errors import Conflict, InvalidInput
from apps.evaluation.ab.selectors import ab_list
from apps.evaluation.models import SuiteVersion
from apps.evaluation.selectors import (
    access_suite,
    access_suite_by_id,
    access_version,
    evaluation_list,
    newest_version,
    suite_list,
)
from apps.evaluation.services import (
    evaluation_estimate,
    evaluation_start,
    suite_delete,
    suite_import,
)
from apps.evaluation.shadow.selectors import mirrored_of, shadow_list
from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from apps.pools.selectors import (
    access_pool,
    conductor_list,
    pool_list,
    pool_snapshot,
)
from apps.web.team_access import TeamRequest, refusal_show, team_view

TAB = "evaluations"
SHOWN = 50
"""Evaluations of the list, the newest."""


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
        "quick": quick_measurement(team_id),
        "ab_tests": [ab_row(test) for test in ab_list(team_id)[:SHOWN]],
    }
    return console_page(request, "console/evaluations.html", context, tab=TAB)


@require_POST
@team_view
def evaluation_quick(request: TeamRequest) -> HttpResponseBase:
    """Measure what plans now, without a form."""
    require(request, Permission.MANAGE_POOLS)
    quick = quick_measurement(request.team.id)
    if quick is None:
        raise Conflict("there is no suite and pool to measure with one click")
    try:
        evaluation = evaluation_start(
            version=quick.version,
            values=quick.values,
            principal=request.principal,
            actor=request.actor,
        )
    except (InvalidInput, Conflict) as error:
        refusal_show(request, error)
        return redirect("console:evaluation_list")
    return redirect("console:evaluation", evaluation.id)


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
                ngettext(
                    "{suite}, version {number}: {count} task.",
                    "{suite}, version {number}: {count} tasks.",
                    version.task_count,
                ).format(
                    suite=version.suite.name,
                    number=version.number,
                    count=version.task_count,
                ),
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
            said = _("Line {line}: {fault}.").format(line=fault.line, fault=fault.why)
            form.add_error("file", said)
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
            _("The suite {name} is deleted.").format(name=suite.name),
            back,
        )
    context = {
        "title": _("Delete the suite “{name}”?").format(name=suite.name),
        "points": [
            _("Its tasks, its evaluations and their results are deleted."),
            _("The runs stay, and so does what the ledger says of the evaluations."),
        ],
        "label": _("Delete"),
        "back": back,
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def evaluation_new(request: TeamRequest) -> HttpResponseBase:
    """Start an evaluation."""
    require(request, Permission.MANAGE_POOLS)
    team_id = request.team.id
    suites = {suite.name: suite for suite in suite_list(team_id)}
    pools = {pool.name: pool for pool in pool_list(team_id)}
    if not suites or not pools:
        missing = _("An evaluation needs a pool first.")
        if not suites:
            missing = _("An evaluation needs a suite of tasks first.")
        messages.info(request, missing)
        return redirect("console:suite_new" if not suites else "console:pool_list")
    asked = request.POST or request.GET
    suite = suites.get(asked.get("suite", ""), next(iter(suites.values())))
    chosen = asked.get("pool") or usual_pool(suite, pools.values())
    snapshot = pool_snapshot(team_id, chosen if chosen in pools else None)
    workers = [worker.name for worker in snapshot.chat_workers]
    form = EvaluationForm(
        posted(request),
        initial={
            "pool": snapshot.name,
            "worker": snapshot.fallback,
            "suite": suite.name,
            "suite_version": request.GET.get("suite_version", ""),
        },
        suites=[*suites],
        pools=[*pools],
        workers=workers,
        conductors=[conductor.name for conductor in conductor_list(team_id)],
        measured=measured_choices(team_id),
        pool_versions=version_choices(pools[snapshot.name]),
    )
    return _order_page(
        request,
        form,
        lambda version: form.values(snapshot),
        title=_("New evaluation"),
        lead=_(
            "You are charged for its runs: the policy applies to them, they count "
            "towards budgets and rate limits, and the ledger records them."
        ),
        setting={
            "suites": [*suites],
            "suite": suite.name,
            "pools": [*pools],
            "pool": snapshot.name,
        },
    )


@require_http_methods(["GET", "POST"])
@team_view
def calibration_new(request: TeamRequest, pool_id: UUID) -> HttpResponseBase:
    """Measure workers of a pool on a suite: their profiles come of it."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    suites = [suite.name for suite in suite_list(request.team.id)]
    if not suites:
        messages.info(request, _("A calibration needs a suite of tasks first."))
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
        title=_("Calibrate workers of {pool}").format(pool=pool.name),
        lead=_(
            "Each worker answers training tasks of a suite, once. How often it is "
            "right, what it costs and how long it takes becomes its profile, instead "
            "of the one it has."
        ),
    )


def _order_page(
    request: TeamRequest,
    form: EvaluationForm | CalibrationForm,
    values: Callable[[SuiteVersion], dict[str, Any]],
    *,
    title: str,
    lead: str,
    setting: Mapping[str, Any] | None = None,
) -> HttpResponseBase:
    """Show the form of an evaluation; start it if it was sent once more unchanged.

    When it is sent for the first time, the estimate is shown, and the page asks.
    """
    estimate, asked = None, ""
    if form.is_bound and form.is_valid():
        suite = access_suite(team_id=request.team.id, name=form.cleaned_data["suite"])
        version = access_version(suite, form.cleaned_data.get("suite_version"))
        settings = try_change(form, lambda: values(version))
        asked = "" if settings is None else _digest(version, settings)
        if settings is not None and request.POST.get("confirmed") == asked:
            made = try_change(
                form,
                lambda: evaluation_start(
                    version=version,
                    values=settings,
                    principal=request.principal,
                    actor=request.actor,
                ),
            )
            if made is not None:
                return redirect("console:evaluation", made.id)
        elif settings is not None:
            estimate = try_change(
                form, lambda: evaluation_estimate(version=version, values=settings)
            )
    context = {
        "form": form,
        "estimate": estimate,
        "asked": asked if estimate else "",
        "setting": setting,
        "title": title,
        "lead": lead,
    }
    status = 400 if form.errors else 200
    return console_page(
        request, "console/evaluation_new.html", context, tab=TAB, status=status
    )


def _digest(version: SuiteVersion, settings: dict[str, Any]) -> str:
    """Return what stands for an order; another order has another one."""
    order = orjson.dumps([str(version.id), settings], option=orjson.OPT_SORT_KEYS)
    return sha256(order).hexdigest()
