"""The short addresses of places, such as `/settings/`: each leads to its first page."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from apps.core.errors import NotFound
from apps.web.navigation import place_address
from apps.web.team_access import TeamRequest, team_view


@require_safe
@team_view
def place_page(request: TeamRequest, name: str) -> HttpResponseBase:
    """Go to the first page of a place that this member may open."""
    address = place_address(request.membership.role, name)
    if address is None:
        raise NotFound("your role has no pages there")
    return redirect(address)
