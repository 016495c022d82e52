"""A team as such: its start, its name, its end."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.models import Permission, Role, User
from apps.accounts.principal import user_actor
from apps.accounts.selectors import invitations_of, team_list
from apps.accounts.services import team_create, team_delete, team_update
from apps.console.forms.people import (
    ROLE_WORDS,
    ConfirmationForm,
    RatesForm,
    TeamForm,
    role_noun,
)
from apps.console.layout import console_page, posted, require, try_change
from apps.core.errors import NotAllowed
from apps.runs.selectors import suspension_of
from apps.sharing.selectors import sharing_status
from apps.web.request_context import context_of
from apps.web.team_access import SESSION_TEAM, TeamRequest, chosen_team, team_view


def may_create_team(user: User) -> bool:
    """Return True if this person may make a team: all may where sign-up is open."""
    return settings.SIGN_UP == "open" or user.is_staff


@require_http_methods(["GET", "POST"])
@login_required
def team_create_page(request: HttpRequest) -> HttpResponseBase:
    """Create a team; also the first page of a person without one."""
    user = cast(User, request.user)
    teams, may_create = list(team_list(user)), may_create_team(user)
    if request.method == "POST" and not may_create:
        raise NotAllowed("new teams on this site are made by its operator")
    suggested = {"name": "" if teams else _own_team_name(user)}
    form = TeamForm(posted(request), initial=suggested)
    if form.is_valid():
        actor = user_actor(user, context_of(request))
        name = form.cleaned_data["name"]
        team = try_change(form, lambda: team_create(name=name, actor=actor, owner=user))
        if team:
            request.session[SESSION_TEAM] = str(team.id)
            messages.success(
                request,
                _("%(team)s is ready. You are its owner.") % {"team": team.name},
            )
            return redirect("console:pool_list")
    context = {
        "form": form,
        "teams": teams,
        "team": chosen_team(request, teams),
        "may_create": may_create,
        "invitations": [(each, role_noun(each.role)) for each in invitations_of(user)],
    }
    return render(request, "console/start.html", context)


def _own_team_name(user: User) -> str:
    """Return a name for the first team of a person."""
    return _("%(name)s’s team") % {"name": (user.name or user.email.split("@")[0])[:60]}


@require_GET
@team_view
def team_page(request: TeamRequest) -> HttpResponseBase:
    """Show what the team is, and what can be done with it as a whole."""
    context = {
        "role_words": ROLE_WORDS[Role(request.membership.role)],
        "may_create": may_create_team(request.user),
        "suspension": suspension_of(request.team.id),
        "sharing": sharing_status(request.team.id),
    }
    return console_page(request, "console/team.html", context, tab="team")


@require_http_methods(["GET", "POST"])
@team_view
def team_rename(request: TeamRequest) -> HttpResponseBase:
    """Give the team another name."""
    require(request, Permission.MANAGE_TEAM)
    form = TeamForm(posted(request), initial={"name": request.team.name})
    if form.is_valid():
        changed = try_change(
            form,
            lambda: team_update(
                team=request.team, actor=request.actor, **form.cleaned_data
            ),
        )
        if changed:
            messages.success(
                request, _("The team is now called %(team)s.") % {"team": changed.name}
            )
            return redirect("console:team")
    context = {
        "title": _("Rename the team"),
        "form": form,
        "label": _("Save name"),
        "back": reverse("console:team"),
    }
    return console_page(request, "console/form.html", context, tab="team")


@require_http_methods(["GET", "POST"])
@team_view
def team_rates(request: TeamRequest) -> HttpResponseBase:
    """Set what all keys of the team together may ask for in a minute."""
    require(request, Permission.MANAGE_BUDGETS)
    team = request.team
    form = RatesForm(
        posted(request),
        initial={
            "requests_per_minute": team.requests_per_minute,
            "tokens_per_minute": team.tokens_per_minute,
        },
    )
    if form.is_valid():
        changed = try_change(
            form,
            lambda: team_update(team=team, actor=request.actor, **form.cleaned_data),
        )
        if changed:
            messages.success(request, _("The team's rates are saved."))
            return redirect("console:budget_list")
    context = {
        "title": _("Rates of the team"),
        "lead": _(
            "All keys of the team together. A key can have lower rates of its own. "
            "What goes beyond is answered with 429 and the time to wait."
        ),
        "form": form,
        "label": _("Save rates"),
        "back": reverse("console:budget_list"),
    }
    return console_page(request, "console/form.html", context, tab="budgets")


@require_http_methods(["GET", "POST"])
@team_view
def team_delete_page(request: TeamRequest) -> HttpResponseBase:
    """Delete the team and all that is its own, after its slug was typed."""
    require(request, Permission.MANAGE_TEAM)
    team = request.team
    form = ConfirmationForm(posted(request), team.slug)
    if form.is_valid():
        words = form.cleaned_data["confirmation"]
        name = team.name
        try_change(
            form,
            lambda: team_delete(team=team, confirmation=words, actor=request.actor),
        )
        if form.is_valid():
            request.session.pop(SESSION_TEAM, None)
            messages.success(request, _("%(team)s is deleted.") % {"team": name})
            return redirect("playground:index")
    context = {
        "title": _("Delete the team “%(team)s”?") % {"team": team.name},
        "points": [
            _("All members lose access and all API keys stop immediately."),
            _("Its pools, credentials, budgets and runs are deleted."),
            _("Its ledger stays, and ends with this deletion."),
            _("This cannot be undone."),
        ],
        "form": form,
        "label": _("Delete the team"),
        "back": reverse("console:team"),
    }
    return console_page(request, "console/confirm.html", context, tab="team")
