"""The operator's page on which all runs of the site, or of a team, are stopped."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Team, User
from apps.accounts.principal import user_actor
from apps.core.errors import ConductorError, NotFound
from apps.runs.selectors import suspension_list
from apps.runs.services import runs_allow, runs_suspend
from apps.web.request_context import context_of
from apps.web.team_access import refusal_show

SITE = "site"
"""Stands for all teams in the form."""


@require_http_methods(["GET", "POST"])
def site_suspensions(request: HttpRequest) -> HttpResponse:
    """Show what is stopped; stop runs, or allow them again."""
    if not request.user.is_superuser:
        raise PermissionDenied
    if request.method == "POST":
        try:
            messages.success(request, _change(request))
        except ConductorError as error:
            refusal_show(request, error)
        return redirect("site_suspensions")
    context = {
        "tab": "site_suspensions",
        "title": "Stop runs",
        "suspensions": suspension_list(),
        "teams": Team.objects.order_by("name").values_list("slug", "name"),
    }
    return render(request, "site/suspensions.html", context)


def _change(request: HttpRequest) -> str:
    """Make the change; return what was done. Raises: ConductorError."""
    team = _team(request.POST.get("scope", ""))
    whose = "of the site" if team is None else f"of {team.name}"
    actor = user_actor(cast(User, request.user), context_of(request))
    if "lift" in request.POST:
        runs_allow(team=team, actor=actor)
        return f"Runs {whose} are allowed again."
    runs_suspend(team=team, reason=request.POST.get("reason", ""), actor=actor)
    return f"All runs {whose} are stopped."


def _team(scope: str) -> Team | None:
    """Return the team of a form; None: the whole site. Raises: NotFound."""
    if scope == SITE:
        return None
    team = Team.objects.filter(slug=scope).first()
    if team is None:
        raise NotFound("there is no such team; choose one of the list")
    return team
