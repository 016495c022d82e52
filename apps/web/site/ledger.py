"""The ledger of every team, for the operator: entries as they were hashed.

Texts stay sealed; entries hold their digests. Tables with a composite key are beyond
the admin's own lists, so this is a page of its own.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.accounts.models import Team
from apps.audit.models import ChainHead, Entry

PAGE = 50


@require_safe
def site_ledger(request: HttpRequest) -> HttpResponse:
    """List the teams with the length of their chains; deleted teams have theirs yet."""
    names = dict(Team.objects.values_list("id", "name"))
    chains = [
        {
            "team_id": head.team_id,
            "name": names.get(head.team_id, f"A deleted team, {head.team_id}"),
            "seq": head.seq,
            "hash": head.hash,
        }
        for head in ChainHead.objects.order_by("team_id")
    ]
    chains.sort(key=lambda chain: str(chain["name"]).casefold())
    return _page(request, "Ledger of all teams", {"chains": chains})


@require_safe
def site_ledger_team(request: HttpRequest, team_id: uuid.UUID) -> HttpResponse:
    """Show a team's entries, newest first; `before` is where the page begins."""
    head = get_object_or_404(ChainHead, team_id=team_id)
    wanted = request.GET.get("before", "")
    before = int(wanted) if wanted.isdecimal() and len(wanted) < 19 else head.seq + 1
    entries = Entry.objects.for_team(team_id).filter(seq__lt=before)
    shown = list(entries.order_by("-seq")[:PAGE])
    team = Team.objects.filter(id=team_id).first()
    context = {
        "entries": [_readable(entry) for entry in shown],
        "older": shown[-1].seq if shown and shown[-1].seq > 1 else None,
    }
    return _page(request, f"Ledger of {team or team_id}", context)


def _page(request: HttpRequest, title: str, context: dict[str, Any]) -> HttpResponse:
    frame = {"tab": "site_ledger", "title": title}
    return render(request, "site/ledger.html", {**frame, **context})


def _readable(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "action": entry.action,
        "recorded_at": entry.recorded_at,
        "hash": entry.hash,
        "text": bytes(entry.canonical).decode("utf-8", "replace"),
    }
