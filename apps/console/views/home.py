"""Home: where owners and admins begin. Others begin on the playground."""

from __future__ import annotations

from datetime import UTC

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.models import Permission
from apps.accounts.selectors import role_allows
from apps.alerts.models import Alert
from apps.alerts.selectors import bell_alerts
from apps.budgets.selectors import budget_list
from apps.console.budget_rows import budget_rows
from apps.console.home.figures import (
    health_counts,
    money_figures,
    most_used,
    run_figures,
)
from apps.console.home.needs import TeamState, is_failing, needs_of
from apps.console.layout import console_page
from apps.console.pool_rows import conductor_rows, worker_rows
from apps.evaluation.reports.headline import headline
from apps.web.team_access import TeamRequest, team_view


@require_GET
@team_view
def home(request: TeamRequest) -> HttpResponseBase:
    """Show what needs a person, how the models are, what was spent and what ran."""
    if not role_allows(request.membership.role, Permission.MANAGE_BUDGETS):
        return redirect("playground:index")
    team_id, now = request.team.id, timezone.now().astimezone(UTC)
    state = TeamState(
        team_id=team_id,
        workers=worker_rows(team_id),
        conductors=conductor_rows(team_id),
        budgets=budget_rows(budget_list(team_id)),
        alerts=_alerts(request),
        now=now,
    )
    context = {
        "section": "home",
        "found": headline(team_id),
        "needs": needs_of(state),
        "runs": run_figures(team_id, now),
        "money": money_figures(team_id, now),
        "budgets": most_used(state.budgets),
        "health": health_counts(state.workers),
        "conductors": state.conductors,
        "failing_conductors": sum(map(is_failing, state.conductors)),
    }
    return console_page(request, "console/home.html", context, tab="home")


def _alerts(request: TeamRequest) -> QuerySet[Alert]:
    """Return what the reader's bell counts."""
    role = request.membership.role
    mine = bell_alerts(request.team.id, request.user.id, role)
    return Alert.objects.for_team(request.team.id).none() if mine is None else mine
