"""Access to the pages of a team: who is signed in, for which team, in which role.

Pages show a refused change as a notice, in the words of the API, which are English.

Pages of an account, of a new team and of the operator check access by themselves.

The team is the one chosen in the session, else the first by name. A choice that is no
longer valid is ignored, so a former member never sees its pages again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from apps.accounts.models import Membership, Permission, Team, User
from apps.accounts.principal import Principal, member_principal
from apps.accounts.selectors import (
    can_read_runs,
    can_run,
    membership_of,
    role_allows,
    team_list,
)
from apps.alerts.selectors import bell_of
from apps.audit.types import Actor
from apps.core.errors import ConductorError, NotAllowed
from apps.governance.approvals.pending import approvals_waiting
from apps.web.formats import sentence
from apps.web.navigation import NavPlace, nav_places, place_of, site_place
from apps.web.request_context import context_of

SESSION_TEAM = "team_id"
REFUSAL = "refusal"
"""Tag of a notice that says why a change was refused."""
P = ParamSpec("P")


class TeamRequest(HttpRequest):
    """A request of a signed-in member on behalf of one of their teams.

    For type checkers: `team_view` puts these attributes on the request it got.
    """

    user: User
    team: Team
    teams: list[Team]
    principal_team_id: uuid.UUID
    """For the server, which makes pages by turns of the teams."""
    membership: Membership
    can_run: bool
    """True if this member may start and cancel runs."""
    principal: Principal
    """The member, for the services that start runs."""
    actor: Actor
    """The member as the ledger names them, with the context of this request."""


View = Callable[Concatenate[TeamRequest, P], HttpResponseBase]


def team_view(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Let members of a team in; others sign in first or learn what is missing."""

    @wraps(view)
    def inner(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        teams = list(team_list(request.user))
        team = chosen_team(request, teams)
        if team is None:
            return _without_team(request)
        mine = cast(TeamRequest, request)
        mine.teams, mine.team, mine.principal_team_id = teams, team, team.id
        membership = membership_of(mine.user, mine.team.id)
        if membership is None or not can_read_runs(membership.role):
            raise NotAllowed("your role in this team does not let you see its runs")
        mine.membership, mine.can_run = membership, can_run(membership.role)
        mine.principal = member_principal(
            mine.user, team, membership.role, context_of(request)
        )
        mine.actor = mine.principal.actor
        return view(mine, *args, **kwargs)

    return login_required(inner)


def operators_only(
    sign_in: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Say to people who are signed in that the admin's pages are for operators."""

    @wraps(sign_in)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not request.user.is_staff:
            raise NotAllowed(
                "the administration is for the operators of this site, whatever role "
                "you have in a team. Ask an operator if you need something from there"
            )
        return sign_in(request, *args, **kwargs)

    return inner


def page(
    request: TeamRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page with what the frame needs: team, teams, what one may do."""
    tab = context.get("tab") or context.get("section", "")
    frame = _frame(request, request.team, request.teams, request.membership, tab)
    return render(request, template, {**frame, **context}, status=status)


def refusal_show(request: HttpRequest, error: ConductorError) -> None:
    """Say on the next page why a change was refused."""
    messages.error(request, sentence(error.message), extra_tags=REFUSAL)


def frame_of(request: HttpRequest, tab: str = "") -> dict[str, Any]:
    """Return what the frame needs on a page that is no team's own.

    Nothing for visitors; the operator's pages for operators without a team.
    """
    if not request.user.is_authenticated:
        return {}
    teams = list(team_list(request.user))
    team = chosen_team(request, teams)
    membership = None if team is None else membership_of(request.user, team.id)
    if team is None or membership is None:
        places = site_places(request)
        return {"nav": places, "tab": tab, "place": place_of(places, tab)}
    return _frame(request, team, teams, membership, tab)


def site_places(request: HttpRequest) -> list[NavPlace]:
    """Return the operator's place, for operators."""
    user = request.user
    return [site_place(is_superuser=user.is_superuser)] if user.is_staff else []


def _frame(
    request: HttpRequest,
    team: Team,
    teams: list[Team],
    membership: Membership,
    tab: str,
) -> dict[str, Any]:
    """Return what the frame of a page needs; `tab` names the page in the navigation."""
    role = membership.role
    places = [*nav_places(role), *site_places(request)]
    return {
        "team": team,
        "teams": teams,
        "nav": places,
        "tab": tab,
        "place": place_of(places, tab),
        "can_run": can_run(role),
        "may_manage_pools": role_allows(role, Permission.MANAGE_POOLS),
        "may_review": role_allows(role, Permission.REVIEW_RUNS),
        "approvals_waiting": _approvals_waiting(membership),
        "bell": bell_of(team.id, membership.user_id, role),
    }


def _approvals_waiting(membership: Membership) -> int:
    """Return how many plans wait for this member's decision."""
    if not role_allows(membership.role, Permission.APPROVE_PLANS):
        return 0
    rows = approvals_waiting(membership.team_id)
    others = Q(requester_id__isnull=True) | ~Q(requester_id=membership.user_id)
    return rows.filter(others).count()


def _without_team(request: HttpRequest) -> HttpResponse:
    """Lead a person without a team to where they can begin."""
    if request.method != "GET":
        raise NotAllowed("you are in no team yet")
    return redirect("console:team_create")


def chosen_team(request: HttpRequest, teams: list[Team]) -> Team | None:
    """Return the one of these teams that the session names, else the first."""
    wanted = request.session.get(SESSION_TEAM)
    found = (team for team in teams if str(team.id) == wanted)
    return next(found, teams[0] if teams else None)


def choose_team(request: TeamRequest, team_id: uuid.UUID) -> bool:
    """Remember another team of the member; False if it is not one of theirs."""
    is_mine = any(team.id == team_id for team in request.teams)
    if is_mine:
        request.session[SESSION_TEAM] = str(team_id)
    return is_mine
