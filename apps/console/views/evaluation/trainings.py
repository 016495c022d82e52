"""Trainings of light planners: started, watched, cancelled, and put to use."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.console.evaluations.training_rows import light_tiers, training_row
from apps.console.forms.trainings import (
    PlannerUseForm,
    ProbeForm,
    SiteDefaultForm,
    TrainingForm,
)
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.evaluation.models import Suite
from apps.evaluation.selectors import (
    access_suite_by_id,
    newest_version,
    suite_list,
)
from apps.pools.models import Pool
from apps.pools.selectors import access_pool, planner_version, pool_snapshot
from apps.training.selectors import access_training
from apps.training.services import (
    planner_retire,
    planner_use,
    training_cancel,
    training_start,
)
from apps.web.team_access import TeamRequest, team_view

TAB = "learning"


@require_http_methods(["GET", "POST"])
@team_view
def training_new(request: TeamRequest, pool_id: UUID) -> HttpResponseBase:
    """Start the training of a pool's light planner."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    suites = list(suite_list(request.team.id).order_by("name"))
    newcomer, by_profiles = _asked(request)
    form = _training_form(request, pool, suites, newcomer, by_profiles)
    if suites and form.is_valid():
        suite = access_suite_by_id(team_id=request.team.id, suite_id=form.suite_id)
        started = try_change(
            form,
            lambda: training_start(
                pool=pool,
                suite_version=newest_version(suite),
                values=form.values(),
                actor=request.actor,
                principal=request.principal,
            ),
        )
        if started is not None:
            return redirect("console:training", started.id)
    context = {
        "form": form,
        "pool": pool,
        "suites": suites,
        "newcomer": newcomer,
        "by_profiles": by_profiles,
    }
    return console_page(request, "console/training_new.html", context, tab=TAB)


def _asked(request: TeamRequest) -> tuple[str, bool]:
    """Return the worker that is to be probed, and whether profiles are enough."""
    return request.GET.get("newcomer", ""), request.GET.get("from") == "profiles"


def _training_form(
    request: TeamRequest,
    pool: Pool,
    suites: Sequence[Suite],
    newcomer: str,
    by_profiles: bool,
) -> TrainingForm:
    sent, tiers = posted(request), _tiers(pool)
    if by_profiles:
        return SiteDefaultForm(sent, suites=suites, tiers=tiers)
    if newcomer:
        return ProbeForm(sent, suites=suites, tiers=tiers, newcomer=newcomer)
    snapshot = pool_snapshot(pool.team_id, pool.name)
    embedders = [worker.name for worker in snapshot.embedding_workers]
    return TrainingForm(sent, suites=suites, tiers=tiers, embedders=embedders)


@require_GET
@team_view
def training_page(request: TeamRequest, training_id: UUID) -> HttpResponseBase:
    """Show how far a training is, and what it found."""
    require(request, Permission.READ_RUNS)
    training = access_training(request.team.id, training_id)
    context = {"training": training, "row": training_row(training)}
    return console_page(request, "console/training.html", context, tab=TAB)


@require_POST
@team_view
def training_cancel_action(request: TeamRequest, training_id: UUID) -> HttpResponseBase:
    """Cancel a training."""
    require(request, Permission.MANAGE_POOLS)
    training = access_training(request.team.id, training_id)
    if training_cancel(training=training, actor=request.actor):
        messages.success(request, _("The training is being cancelled."))
    return redirect("console:training", training.id)


@require_http_methods(["GET", "POST"])
@team_view
def planner_version_page(
    request: TeamRequest, pool_id: UUID, number: int
) -> HttpResponseBase:
    """Show what a version was trained on and how it did, and put it to use."""
    require(request, Permission.READ_RUNS)
    if request.method == "POST":
        require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    version = planner_version(pool, number)
    initial = {"tiers": _tiers(pool)[-1:]}
    form = PlannerUseForm(
        posted(request), tiers=_tiers(pool), gate=version.gate, initial=initial
    )
    if form.is_valid():
        used = try_change(
            form,
            lambda: planner_use(
                pool=pool,
                number=number,
                tiers=form.cleaned_data["tiers"],
                reason=form.cleaned_data["reason"],
                actor=request.actor,
            ),
        )
        if used is not None:
            messages.success(
                request, _("Version {number} plans now.").format(number=number)
            )
            return redirect("console:learning")
    of_pool = pool.planner_version
    is_of_pool = of_pool is not None and of_pool.number == number
    context = {
        "form": form,
        "pool": pool,
        "version": version,
        "is_of_pool": is_of_pool,
        "in_use": light_tiers(pool) if is_of_pool else [],
        "gate": version.gate,
    }
    return console_page(request, "console/planner_version.html", context, tab=TAB)


@require_POST
@team_view
def planner_retire_action(request: TeamRequest, pool_id: UUID) -> HttpResponseBase:
    """Let the tiers of a pool plan as they would without a light planner."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    return change_and_tell(
        request,
        lambda: planner_retire(pool=pool, actor=request.actor),
        _("The tiers of {pool} no longer plan with the light planner.").format(
            pool=pool.name
        ),
        "console:learning",
    )


def _tiers(pool: Pool) -> list[str]:
    return [tier.name for tier in pool.tiers.all()]
