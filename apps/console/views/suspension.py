"""Stopping all runs of the team, and allowing them again."""

from __future__ import annotations

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.console.forms.people import SuspensionForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.runs.services import runs_allow, runs_suspend
from apps.web.team_access import TeamRequest, team_view


@require_http_methods(["GET", "POST"])
@team_view
def runs_suspend_page(request: TeamRequest) -> HttpResponseBase:
    """Stop all runs, after asking why."""
    require(request, Permission.STOP_RUNS)
    form = SuspensionForm(posted(request))
    if form.is_valid():
        placed = try_change(
            form,
            lambda: runs_suspend(
                team=request.team, actor=request.actor, **form.cleaned_data
            ),
        )
        if placed:
            messages.success(request, gettext("All runs are stopped."))
            return redirect("console:team")
    context = {
        "title": gettext("Stop all runs of “%(team)s”?") % {"team": request.team.name},
        "points": [
            gettext(
                "Runs in progress are cancelled within seconds. They cannot be resumed."
            ),
            gettext(
                "No run can start, from the chat or over the API, until an owner "
                "or admin allows runs again."
            ),
            gettext("Pages, records and settings stay available."),
        ],
        "form": form,
        "label": gettext("Stop all runs"),
        "back": reverse("console:team"),
    }
    return console_page(request, "console/confirm.html", context, tab="team")


@require_POST
@team_view
def runs_allow_view(request: TeamRequest) -> HttpResponseBase:
    """Allow runs again."""
    require(request, Permission.STOP_RUNS)
    return change_and_tell(
        request,
        lambda: runs_allow(team=request.team, actor=request.actor),
        gettext("Runs are allowed again."),
        "console:team",
    )
