"""Reads for a given person: their teams and what their role lets them do there."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Set

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from apps.accounts.models import Membership, Permission, Role, Team, User
from apps.core.errors import NotAllowed, NotFound

Visitor = User | AnonymousUser

_READING = {Permission.READ_RUNS, Permission.READ_TEAM}
_MANAGING = {
    Permission.MANAGE_POOLS,
    Permission.MANAGE_KEYS,
    Permission.MANAGE_MEMBERS,
    Permission.MANAGE_BUDGETS,
    Permission.READ_AUDIT,
}
_PERMISSIONS: Mapping[str, Set[Permission]] = {
    Role.OWNER: set(Permission),
    Role.ADMIN: {*_READING, *_MANAGING, Permission.RUN},
    Role.MEMBER: {*_READING, Permission.RUN},
    Role.REVIEWER: {*_READING, Permission.READ_AUDIT},
    Role.VIEWER: _READING,
}


def role_allows(role: str, permission: Permission) -> bool:
    """Say whether a member with `role` has `permission`."""
    return permission in _PERMISSIONS.get(role, ())


def require_permission(role: str, permission: Permission) -> None:
    """Raise NotAllowed, in words for people, unless `role` has `permission`."""
    if not role_allows(role, permission):
        raise NotAllowed(
            f"your role {role!r} in this team does not let you do this: "
            f"{permission.label.lower()}"
        )


def can_run(role: str) -> bool:
    """Say whether a member with `role` may start and cancel runs."""
    return role_allows(role, Permission.RUN)


def can_read_runs(role: str) -> bool:
    """Say whether a member with `role` may read the team's runs: every member may."""
    return role_allows(role, Permission.READ_RUNS)


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
