"""The palette's search, for its script: JSON."""

from __future__ import annotations

from django.http import JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.console.palette.sources import palette_search
from apps.web.team_access import TeamRequest, team_view

LONGEST = 200
"""Characters of a query that are looked at."""


@require_GET
@team_view
def palette(request: TeamRequest) -> HttpResponseBase:
    """Return what a query finds, in groups: `title` and `hits` of each."""
    query = " ".join(request.GET.get("q", "")[:LONGEST].replace("\0", " ").split())
    groups = [
        {
            "title": group.title,
            "hits": [
                {"title": hit.title, "url": hit.url, "note": hit.note}
                for hit in group.hits
            ],
        }
        for group in palette_search(request, query)
    ]
    return JsonResponse({"groups": groups})
