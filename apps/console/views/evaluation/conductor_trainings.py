"""Trainings of conductors: started, watched, cancelled, published and put to use."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.console.evaluations.conductor_rows import (
    can_train_conductors,
    conductor_training_row,
    next_step,
)
from apps.console.forms.base import ConsoleForm
from apps.console.forms.conductor_trainings import (
    ConductorPublishForm,
    ConductorTrainingForm,
    ConductorUseForm,
)
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.evaluation.selectors import access_suite_by_id, newest_version, suite_list
from apps.pools.models import Pool, TierPlanner
from apps.pools.selectors import access_pool, credential_list, planner_versions
from apps.training.conductor.models import ConductorVersion
from apps.training.selectors import (
    access_conductor_training,
    access_conductor_version,
)
from apps.training.services import (
    conductor_training_cancel,
    conductor_training_start,
    conductor_version_delete,
    conductor_version_publish,
    conductor_version_use,
    serving_command,
)
from apps.web.team_access import TeamRequest, team_view

TAB = "learning"
INVALID = 422


@require_http_methods(["GET", "POST"])
@team_view
def conductor_training_new(request: TeamRequest, pool_id: UUID) -> HttpResponseBase:
    """Start the training of a conductor for a pool."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    suites = list(suite_list(request.team.id).order_by("name"))
    planners = list(planner_versions(pool))
    form = ConductorTrainingForm(
        posted(request), suites=suites, tiers=_tiers(pool), planners=planners
    )
    if suites and planners and form.is_valid():
        suite = access_suite_by_id(team_id=request.team.id, suite_id=form.suite_id)
        started = try_change(
            form,
            lambda: conductor_training_start(
                pool=pool,
                suite_version=newest_version(suite),
                values=form.values(),
                actor=request.actor,
                principal=request.principal,
            ),
        )
        if started is not None:
            return redirect("console:conductor_training", started.id)
    context = {
        "form": form,
        "pool": pool,
        "suites": suites,
        "planners": planners,
        "can_train": can_train_conductors(),
    }
    template = "console/conductor_training_new.html"
    return console_page(request, template, context, tab=TAB)


@require_GET
@team_view
def conductor_training_page(
    request: TeamRequest, conductor_training_id: UUID
) -> HttpResponseBase:
    """Show how far a training is, and its curves."""
    require(request, Permission.READ_RUNS)
    training = access_conductor_training(request.team.id, conductor_training_id)
    context = {"training": training, "row": conductor_training_row(training)}
    return console_page(request, "console/conductor_training.html", context, tab=TAB)


@require_POST
@team_view
def conductor_training_cancel_action(
    request: TeamRequest, conductor_training_id: UUID
) -> HttpResponseBase:
    """Cancel a training."""
    require(request, Permission.MANAGE_POOLS)
    training = access_conductor_training(request.team.id, conductor_training_id)
    if conductor_training_cancel(training=training, actor=request.actor):
        messages.success(request, _("The training is being cancelled."))
    return redirect("console:conductor_training", training.id)


@require_GET
@team_view
def conductor_version_page(request: TeamRequest, number: int) -> HttpResponseBase:
    """Show what a version was trained on, how it did, and what can be done with it."""
    require(request, Permission.READ_RUNS)
    version = access_conductor_version(request.team.id, number)
    return _version_page(request, version)


@require_POST
@team_view
def conductor_publish_action(request: TeamRequest, number: int) -> HttpResponseBase:
    """Say where a version is served."""
    require(request, Permission.MANAGE_POOLS)
    version = access_conductor_version(request.team.id, number)
    form = _publish_form(request, version)
    if form.is_valid():
        published = try_change(
            form,
            lambda: conductor_version_publish(
                version=version, values=form.values(), actor=request.actor
            ),
        )
        if published is not None:
            messages.success(
                request, _("Version {number} is published.").format(number=number)
            )
            return redirect("console:conductor_version", number)
    return _version_page(request, version, publish=form, status=INVALID)


@require_POST
@team_view
def conductor_use_action(request: TeamRequest, number: int) -> HttpResponseBase:
    """Let a tier plan with a version."""
    require(request, Permission.MANAGE_POOLS)
    version = access_conductor_version(request.team.id, number)
    form = _use_form(request, version)
    if form.is_valid():
        used = try_change(
            form,
            lambda: conductor_version_use(
                version=version,
                tier=form.cleaned_data["tier"],
                reason=form.cleaned_data["reason"],
                actor=request.actor,
            ),
        )
        if used is not None:
            messages.success(
                request, _("Version {number} plans now.").format(number=number)
            )
            return redirect("console:conductor_version", number)
    return _version_page(request, version, use=form, status=INVALID)


@require_http_methods(["GET", "POST"])
@team_view
def conductor_version_delete_action(
    request: TeamRequest, number: int
) -> HttpResponseBase:
    """Delete a version with its weights, after a question."""
    require(request, Permission.MANAGE_POOLS)
    version = access_conductor_version(request.team.id, number)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: conductor_version_delete(version=version, actor=request.actor),
            _("Version {number} is deleted.").format(number=number),
            "console:learning",
        )
    context = {
        "title": _("Delete version {number} of a trained conductor?").format(
            number=number
        ),
        "points": [
            _("Its weights are deleted and cannot be brought back."),
            _("Its place among the conductors stays until you delete that as well."),
        ],
        "label": _("Delete version {number}").format(number=number),
        "back": reverse("console:conductor_version", args=[number]),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _version_page(
    request: TeamRequest,
    version: ConductorVersion,
    *,
    publish: ConsoleForm | None = None,
    use: ConsoleForm | None = None,
    status: int = 200,
) -> HttpResponseBase:
    in_use = _planning_tiers(version)
    context = {
        "version": version,
        "gate": version.gate,
        "in_use": in_use,
        "next_step": next_step(version, is_in_use=bool(in_use)),
        "serving": serving_command(version),
        "publish_form": publish or _publish_form(request, version, is_new=True),
        "use_form": use or _use_form(request, version, is_new=True),
    }
    template = "console/conductor_version.html"
    return console_page(request, template, context, tab=TAB, status=status)


def _publish_form(
    request: TeamRequest, version: ConductorVersion, *, is_new: bool = False
) -> ConductorPublishForm:
    conductor = version.conductor
    initial = {"served_name": version.served_name}
    if conductor is not None:
        key = conductor.credential_id
        initial |= {"base_url": conductor.base_url, "credential_id": str(key or "")}
    return ConductorPublishForm(
        None if is_new else request.POST,
        credentials=list(credential_list(request.team.id)),
        initial=initial,
    )


def _use_form(
    request: TeamRequest, version: ConductorVersion, *, is_new: bool = False
) -> ConductorUseForm:
    return ConductorUseForm(
        None if is_new else request.POST,
        tiers=_tiers(version.pool) if version.pool else [],
        gate=version.gate,
        initial={"tier": version.trained_on["settings"]["tier"]},
    )


def _planning_tiers(version: ConductorVersion) -> list[str]:
    """Return the tiers of its pool that plan with a version."""
    pool = version.pool
    if pool is None or version.conductor_id is None:
        return []
    if pool.conductor_id != version.conductor_id:
        return []
    tiers = pool.tiers.all()
    return [t.name for t in tiers if TierPlanner(t.planner).has_conductor]


def _tiers(pool: Pool) -> list[str]:
    return [tier.name for tier in pool.tiers.all()]
