"""Reads for a given person: their teams and what their role lets them do there."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from apps.accounts.models import Membership, Role, Team, User
from apps.core.errors import NotFound

Visitor = User | AnonymousUser

_RUNNERS = frozenset({Role.OWNER, Role.ADMIN, Role.MEMBER})


def can_run(role: str) -> bool:
    """Say whether a member with `role` may start and cancel runs."""
    return role in _RUNNERS


def can_read_runs(role: str) -> bool:
    """Say whether a member with `role` may read the team's runs: every member may."""
    return role in Role.values


def membership_of(user: Visitor, team_id: uuid.UUID) -> Membership | None:
    """Return the membership of `user` in a team, or None."""
    if not isinstance(user, User) or not user.is_active:
        return None
    return Membership.objects.for_team(team_id).filter(user=user).first()


def team_list(user: Visitor) -> QuerySet[Team]:
    """Return the teams of `user`, by name."""
    if not isinstance(user, User) or not user.is_active:
        return Team.objects.none()
    return Team.objects.filter(memberships__user=user)


def access_team(*, user: Visitor, team_slug_or_id: str | uuid.UUID) -> Team:
    """Return a team `user` is a member of.

    Raises: NotFound for every other team, as if it did not exist.
    """
    wanted = Q(slug=str(team_slug_or_id))
    team_id = _as_uuid(team_slug_or_id)
    if team_id is not None:
        wanted |= Q(id=team_id)
    team = team_list(user).filter(wanted).first()
    if team is None:
        raise NotFound(f"there is no team {str(team_slug_or_id)!r} you belong to")
    return team


def _as_uuid(value: str | uuid.UUID) -> uuid.UUID | None:
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return None
