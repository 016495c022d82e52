"""What planners learn from: the team's consent, how much there is, and its file."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.accounts.selectors import role_allows
from apps.console.evaluations.training_rows import pool_planners
from apps.console.forms.learning import LearningForm
from apps.console.layout import console_page, posted, require, try_change
from apps.core.errors import Conflict
from apps.planners.light.exploring import EXPLORED
from apps.training.models import HALF_LIFE_ANSWERS, TrainingSettings
from apps.training.selectors import (
    FEWEST_RUNS,
    access_promise,
    learning_counts,
    planner_promises,
    training_settings,
)
from apps.training.services import (
    FILE_TYPE,
    learning_export,
    promise_dismiss,
    training_settings_replace,
)
from apps.web.downloads import download
from apps.web.team_access import TeamRequest, team_view

TAB = "learning"


@require_http_methods(["GET", "POST"])
@team_view
def learning_page(request: TeamRequest) -> HttpResponseBase:
    """Show what planners learn from, and change what they may learn from."""
    require(request, Permission.READ_RUNS)
    if request.method == "POST":
        require(request, Permission.MANAGE_POLICY)
    settings = training_settings(request.team.id)
    initial = {
        "learns_from_requests": settings.learns_from_requests,
        "explored_percent": settings.explored_percent,
        "trusts_verified_outcomes": settings.trusts_verified_outcomes,
        "half_life_answers": settings.half_life_answers,
    }
    form = LearningForm(posted(request), initial=initial)
    if form.is_valid() and _save(request, form):
        messages.success(request, _("The choice is saved."))
        return redirect("console:learning")
    if not role_allows(request.membership.role, Permission.MANAGE_POLICY):
        for field in form.fields.values():
            field.disabled = True
    counts, planners = (
        learning_counts(request.team.id),
        pool_planners(request.team.id),
    )
    promises = {each.pool: each for each in planner_promises(request.team.id)}
    context = {
        "form": form,
        "settings": settings,
        "pools": [
            (each, planners[each.pool], promises.get(each.pool)) for each in counts
        ],
        "fewest": FEWEST_RUNS,
        "explored": EXPLORED,
    }
    return console_page(request, "console/learning.html", context, tab=TAB)


def _save(request: TeamRequest, form: LearningForm) -> TrainingSettings | None:
    values = {**form.cleaned_data}
    # Empty fields.
    values["explored_percent"] = values["explored_percent"] or 0
    values["half_life_answers"] = values["half_life_answers"] or HALF_LIFE_ANSWERS
    return try_change(
        form,
        lambda: training_settings_replace(
            team=request.team, values=values, actor=request.actor
        ),
    )


@require_POST
@team_view
def learning_export_file(request: TeamRequest) -> HttpResponseBase:
    """Return the learning data of a pool as a file; that is recorded."""
    require(request, Permission.MANAGE_POLICY)
    export = learning_export(
        team=request.team, pool=request.POST.get("pool") or None, actor=request.actor
    )
    return download(request, export.parts, name=export.name, kind=FILE_TYPE)


@require_POST
@team_view
def promise_dismissal(request: TeamRequest, promise_id: UUID) -> HttpResponseBase:
    """Take back what a broken promise led to; that is recorded."""
    require(request, Permission.MANAGE_POLICY)
    promise = access_promise(request.team.id, promise_id)
    try:
        promise_dismiss(promise=promise, actor=request.actor)
    except Conflict as exc:
        messages.error(request, str(exc))
    else:
        messages.success(
            request, _("What was learned of the worker before counts again.")
        )
    return redirect("console:learning")
