"""Suspensions: no run of a team, or of the site, may start; those in progress end.

Each process reads the suspensions in force every second, with the requests to cancel.
Starting a run looks at what was read, so a team without one pays nothing. All functions
block; not for the event loop.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, NotFound
from apps.core.validation import clean_fields, clean_text
from apps.runs.errors import RunsSuspended
from apps.runs.models import SUSPENSION_REASON_LENGTH, Suspension
from apps.runs.types import SuspensionInForce


@dataclass
class SuspensionBoard:
    """The suspensions that one process knows of."""

    _by_team: Mapping[uuid.UUID | None, SuspensionInForce] = field(default_factory=dict)

    def replace(self, found: Mapping[uuid.UUID | None, SuspensionInForce]) -> None:
        """Take note of those that are in force now."""
        self._by_team = found

    def of(self, team_id: uuid.UUID) -> SuspensionInForce | None:
        """Return what suspends a team's runs."""
        return self._by_team.get(team_id) or self._by_team.get(None)

    def require(self, team_id: uuid.UUID) -> None:
        """Raise RunsSuspended if no run of a team may start."""
        if self._by_team and (found := self.of(team_id)) is not None:
            raise RunsSuspended(found.message)


def suspensions_read() -> dict[uuid.UUID | None, SuspensionInForce]:
    """Return the suspensions in force, by team; None is the site's."""
    rows = Suspension.objects.across_teams().filter(lifted_at=None)
    return {row.team_id: _view(row) for row in rows}


def suspension_list() -> list[Suspension]:
    """Return all suspensions in force, that of the site first."""
    rows = Suspension.objects.across_teams().filter(lifted_at=None)
    found = list(rows.select_related("team").order_by("placed_at"))
    return sorted(found, key=lambda row: row.team_id is not None)


def suspension_of(team_id: uuid.UUID) -> SuspensionInForce | None:
    """Return what suspends a team's runs now."""
    found = suspensions_read()
    return found.get(team_id) or found.get(None)


def suspension_of_site() -> SuspensionInForce | None:
    """Return what suspends the runs of all teams now."""
    return suspensions_read().get(None)


@transaction.atomic
def runs_suspend(*, team: Team | None, reason: Any, actor: Actor) -> Suspension:
    """Stop all runs of a team, or with None of the site, until it is lifted.

    Runs in progress are cancelled by the processes that execute them, within seconds.
    Raises: InvalidFields without a reason, Conflict if they are stopped already,
    NotFound.
    """
    cleaners = {
        "reason": lambda value: clean_text(value, "reason", SUSPENSION_REASON_LENGTH)
    }
    cleaned = clean_fields({"reason": reason}, cleaners)["reason"]
    _lock(team)
    if _in_force(team) is not None:
        raise Conflict("these runs are stopped already")
    row = Suspension.objects.create(
        team=team,
        reason=cleaned,
        actor_type=actor.type,
        actor_id=actor.id,
        actor_name=actor.display[:200],
    )
    _record(team, "team.suspended", actor, {"reason": cleaned, "scope": row.scope})
    return row


@transaction.atomic
def runs_allow(*, team: Team | None, actor: Actor) -> None:
    """Let runs start again. Raises: Conflict if they are not stopped, NotFound."""
    _lock(team)
    row = _in_force(team)
    if row is None:
        raise Conflict("these runs are not stopped")
    row.lifted_at = timezone.now()
    row.save(update_fields=["lifted_at"])
    _record(team, "team.resumed", actor, {"reason": row.reason, "scope": row.scope})


def _lock(team: Team | None) -> None:
    """Let one change come after the other; those of the site after all of teams'."""
    rows = Team.objects.select_for_update(no_key=True).order_by("id")
    if team is None:
        list(rows.values_list("id"))
    elif rows.filter(id=team.id).first() is None:
        raise NotFound("this team has been deleted")


def _in_force(team: Team | None) -> Suspension | None:
    rows = Suspension.objects.across_teams().filter(team=team, lifted_at=None)
    return rows.first()


def _record(
    team: Team | None, action: str, actor: Actor, facts: Mapping[str, Any]
) -> None:
    """Append to the chain of the team; for the site to those of all teams."""
    teams = (
        [team.id] if team else Team.objects.order_by("id").values_list("id", flat=True)
    )
    for team_id in teams:
        draft = EntryDraft(action, "team", team_id, actor, facts)
        entries_append(batch=Batch(team_id, (draft,)))


def _view(row: Suspension) -> SuspensionInForce:
    actor = Actor(row.actor_type, row.actor_id, row.actor_name)
    return SuspensionInForce(row.team_id, row.reason, actor)
