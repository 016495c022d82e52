"""What a team's ledger says, for tests that change something."""

from __future__ import annotations

from typing import Any

import orjson

from apps.accounts.models import Team
from apps.audit.models import Entry


def entries(team: Team) -> list[Entry]:
    return list(Entry.objects.for_team(team.id).order_by("seq"))


def actions(team: Team) -> list[str]:
    return [entry.action for entry in entries(team)]


def data(team: Team, action: str) -> dict[str, Any]:
    """Return the data of the team's one entry of this action."""
    (entry,) = [entry for entry in entries(team) if entry.action == action]
    found: dict[str, Any] = orjson.loads(bytes(entry.canonical))["data"]
    return found


def recorded(team: Team) -> str:
    """Return all the chain holds about a team, as text."""
    return repr([bytes(entry.canonical) for entry in entries(team)])
