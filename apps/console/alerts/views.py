"""Alerts: the list, one alert, acknowledged or muted, and the bell of the header."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.paginator import Paginator
from django.http import QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.alerts.models import Alert
from apps.alerts.selectors import (
    access_alert,
    alert_line,
    alert_list,
    bell_alerts,
    bell_of,
    failed_mails,
)
from apps.alerts.services import alert_acknowledge, alert_mute
from apps.alerts.types import AlertKind
from apps.console.layout import change_and_tell, console_page, require
from apps.web.team_access import TeamRequest, team_view

TAB = "alerts"
ALERTS_PER_PAGE = 50
WAITING, ALL = "waiting", "all"
STATES = (
    (WAITING, _("Waiting for you")),
    ("open", pgettext_lazy("state", "Open")),
    ("closed", _("Closed")),
    (ALL, _("All")),
)
MUTES = (
    (60, _("1 hour")),
    (480, _("8 hours")),
    (1440, _("1 day")),
    (10080, _("1 week")),
)
"""Minutes that the page offers."""


@require_GET
@team_view
def alert_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the alerts of the team, filtered, newest first."""
    require(request, Permission.READ_TEAM)
    state = _chosen(request, "state", [value for value, _words in STATES], "open")
    kind = _chosen(request, "kind", AlertKind.values, "")
    rows = _rows(request, state, kind)
    found = Paginator(rows, ALERTS_PER_PAGE).get_page(request.GET.get("page"))
    query = QueryDict(mutable=True)
    query.update({"state": state, "kind": kind})
    context = {
        "lines": [alert_line(row) for row in found.object_list],
        "found": found,
        "query": query.urlencode(),
        "states": STATES,
        "state": state,
        "kinds": [(each.value, gettext(str(each.label))) for each in AlertKind],
        "kind": kind,
        "mutes": MUTES,
        "failed_mails": failed_mails(request.team.id),
    }
    return console_page(request, "console/alerts.html", context, tab=TAB)


@require_GET
@team_view
def alert_page(request: TeamRequest, alert_id: uuid.UUID) -> HttpResponseBase:
    """Show one alert with what was measured and who did what about it."""
    alert = _alert(request, alert_id, Permission.READ_TEAM)
    context = {"line": alert_line(alert), "mutes": MUTES}
    return console_page(request, "console/alert.html", context, tab=TAB)


@require_POST
@team_view
def alert_acknowledge_view(
    request: TeamRequest, alert_id: uuid.UUID
) -> HttpResponseBase:
    """Note that the member knows of it."""
    alert = _alert(request, alert_id, Permission.MANAGE_ALERTS)
    return change_and_tell(
        request,
        lambda: alert_acknowledge(alert=alert, actor=request.actor),
        gettext(
            "The alert is acknowledged. It stays open as long as its condition is met."
        ),
        reverse("console:alert", args=[alert.id]),
    )


@require_POST
@team_view
def alert_mute_view(request: TeamRequest, alert_id: uuid.UUID) -> HttpResponseBase:
    """Mute it for the chosen minutes; 0 ends the mute."""
    alert = _alert(request, alert_id, Permission.MANAGE_ALERTS)
    given = request.POST.get("minutes", "")
    is_number = given.isascii() and given.isdecimal() and len(given) < 7
    minutes: Any = int(given) if is_number else given
    done = (
        gettext("The alert is muted.")
        if minutes
        else gettext("The alert is no longer muted.")
    )
    return change_and_tell(
        request,
        lambda: alert_mute(
            alert=alert, values={"minutes": minutes}, actor=request.actor
        ),
        done,
        reverse("console:alert", args=[alert.id]),
    )


@require_GET
@team_view
def alert_bell(request: TeamRequest) -> HttpResponseBase:
    """Return the bell of the header as it is now."""
    bell = bell_of(request.team.id, request.user.id, request.membership.role)
    return render(request, "web/_bell_part.html", {"bell": bell})


def _alert(request: TeamRequest, alert_id: uuid.UUID, permission: Permission) -> Alert:
    require(request, permission)
    return access_alert(team_id=request.team.id, alert_id=alert_id)


def _chosen(request: TeamRequest, name: str, known: list[str], usual: str) -> str:
    given = request.GET.get(name, usual)
    return given if given in known else usual


def _rows(request: TeamRequest, state: str, kind: str) -> Any:
    team_id = request.team.id
    if state != WAITING:
        return alert_list(
            team_id=team_id, state="" if state == ALL else state, kind=kind
        )
    mine = bell_alerts(team_id, request.user.id, request.membership.role)
    if mine is None:
        return Alert.objects.for_team(team_id).none()
    return mine.filter(kind=kind) if kind else mine
