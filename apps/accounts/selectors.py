"""Reads for a given person, and for a given team: who may do what, who is there.

`access_*` is the only way from an id in a request to a row: another team's row is not
found, as if it did not exist.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Lower, NullIf
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts.digests import INVITATION, digests_of
from apps.accounts.models import (
    ApiKey,
    Invitation,
    Membership,
    Permission,
    Role,
    Team,
    User,
)
from apps.core.errors import NotAllowed, NotFound

Visitor = User | AnonymousUser
_SENDS_NO_MAIL = (
    "console.EmailBackend",
    "dummy.EmailBackend",
    "filebased.EmailBackend",
)
"""How the dotted paths of backends end that print mails, drop them or keep them."""
_NEEDS_HOST = "smtp.EmailBackend"

_READING = {Permission.READ_RUNS, Permission.READ_TEAM}
_MANAGING = {
    Permission.MANAGE_POOLS,
    Permission.MANAGE_KEYS,
    Permission.MANAGE_MEMBERS,
    Permission.MANAGE_BUDGETS,
    Permission.READ_AUDIT,
    Permission.EXPORT_RUNS,
    Permission.MANAGE_HOLDS,
    Permission.MANAGE_POLICY,
    Permission.APPROVE_PLANS,
    Permission.REVIEW_RUNS,
    Permission.STOP_RUNS,
    Permission.MANAGE_WEBHOOKS,
    Permission.MANAGE_ALERTS,
    Permission.MANAGE_SHARING,
}
_PERMISSIONS: Mapping[str, Set[Permission]] = {
    Role.OWNER: set(Permission),
    Role.ADMIN: {*_READING, *_MANAGING, Permission.RUN, Permission.SHARE_RUNS},
    Role.MEMBER: {*_READING, Permission.RUN, Permission.SHARE_RUNS},
    Role.REVIEWER: {
        *_READING,
        Permission.READ_AUDIT,
        Permission.EXPORT_RUNS,
        Permission.MANAGE_HOLDS,
        Permission.APPROVE_PLANS,
        Permission.REVIEW_RUNS,
        Permission.SHARE_RUNS,
    },
    Role.VIEWER: _READING,
}


def role_allows(role: str, permission: Permission) -> bool:
    """Say whether a member with `role` has `permission`."""
    return permission in _PERMISSIONS.get(role, ())


def roles_with(permission: Permission) -> list[str]:
    """Return the roles that give a permission."""
    return [role for role, given in _PERMISSIONS.items() if permission in given]


def role_of(team_id: uuid.UUID, user_id: uuid.UUID) -> str:
    """Return the role of a user in a team; empty: they are no member of it."""
    rows = Membership.objects.for_team(team_id).filter(user_id=user_id)
    return rows.values_list("role", flat=True).first() or ""


def roles_of(team_id: uuid.UUID) -> dict[uuid.UUID, str]:
    """Return the role of each member of a team, by user id."""
    rows = Membership.objects.for_team(team_id)
    return dict(rows.values_list("user_id", "role"))


def require_permission(role: str, permission: Permission) -> None:
    """Raise NotAllowed, in words for people, unless `role` has `permission`."""
    if not role_allows(role, permission):
        raise NotAllowed(
            f"your role {role!r} in this team does not let you do this: "
            f"{permission.label[:1].lower()}{permission.label[1:]}"
        )


def role_covers(role: str, other: str) -> bool:
    """Say whether everything that `other` may do, `role` may do as well."""
    return set(_PERMISSIONS.get(other, ())) <= set(_PERMISSIONS.get(role, ()))


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


def live_sessions(owners: Mapping[str, uuid.UUID]) -> set[str]:
    """Return which sessions still sign their owners in, by session key.

    One that was ended, that has expired, or whose owner has another password or a
    switched-off account, does not.
    """
    users = User.objects.filter(id__in=set(owners.values()), is_active=True)
    known = {user.pk: user for user in users}
    rows = Session.objects.filter(
        session_key__in=list(owners), expire_date__gt=timezone.now()
    )
    return {
        row.session_key
        for row in rows
        if _signs_in(row.get_decoded(), known.get(owners[row.session_key]))
    }


def membership_list(user: User) -> QuerySet[Membership]:
    """Return the memberships of `user` with their teams, by name of the team."""
    # One person's own rows, whatever the team.
    rows = Membership.objects.across_teams().filter(user=user)
    return rows.select_related("team").order_by("team__name", "team_id")


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


def member_list(team_id: uuid.UUID) -> QuerySet[Membership]:
    """Return the members of a team with their users: owners first, then by name."""
    rank = Case(
        *(When(role=role, then=Value(n)) for n, role in enumerate(Role.values)),
        output_field=IntegerField(),
    )
    shown = Lower(Coalesce(NullIf("user__name", Value("")), "user__email"))
    rows = Membership.objects.for_team(team_id).select_related("user")
    return rows.order_by(rank, shown, "id")


def access_member(team_id: uuid.UUID, user_id: uuid.UUID) -> Membership:
    """Return the membership of a user in a team.

    Raises: NotFound if there is none.
    """
    rows = Membership.objects.for_team(team_id).select_related("team", "user")
    membership = rows.filter(user_id=user_id).first()
    if membership is None:
        raise NotFound(f"there is no member {str(user_id)!r} in this team")
    return membership


def invitation_list(team_id: uuid.UUID) -> QuerySet[Invitation]:
    """Return the invitations a team waits for, newest first.

    Expired ones are among them, as they can be sent again: see `Invitation.is_open`.
    """
    rows = Invitation.objects.for_team(team_id).select_related("invited_by")
    return rows.filter(accepted_at=None, revoked_at=None)


def access_invitation(team_id: uuid.UUID, invitation_id: uuid.UUID) -> Invitation:
    """Return an invitation of a team, in whatever state.

    Raises: NotFound if there is none.
    """
    rows = Invitation.objects.for_team(team_id).select_related("team", "invited_by")
    invitation = rows.filter(pk=invitation_id).first()
    if invitation is None:
        raise NotFound(f"there is no invitation {str(invitation_id)!r} in this team")
    return invitation


def invitation_find(token: str) -> Invitation:
    """Return the invitation whose link holds `token`, with its team.

    Raises: NotFound if it is unknown, used, revoked or expired; all read alike.
    """
    # The one place without a team: the token is what tells us the team.
    rows = Invitation.objects.across_teams().select_related("team", "invited_by")
    digests = digests_of(token, purpose=INVITATION)
    invitation = rows.filter(digest__in=digests).first()
    if invitation is None or not invitation.is_open(timezone.now()):
        raise NotFound(
            "this invitation was used or withdrawn, has expired, or never was; "
            "ask for a new one"
        )
    return invitation


def invitations_of(user: User) -> list[Invitation]:
    """Return the open invitations sent to an address that is surely the user's.

    Claiming an address is not enough: it must have been confirmed.
    """
    if not EmailAddress.objects.filter(
        user=user, email=user.email, verified=True
    ).exists():
        return []
    # Across teams: these are of teams the user does not belong to yet.
    rows = Invitation.objects.across_teams().select_related("team", "invited_by")
    waiting = rows.filter(email=user.email, accepted_at=None, revoked_at=None)
    return list(waiting.filter(expires_at__gt=timezone.now()))


def api_key_list(team_id: uuid.UUID) -> QuerySet[ApiKey]:
    """Return all keys of a team with who made them, dead ones too, newest first."""
    rows = ApiKey.objects.for_team(team_id)
    return rows.select_related("created_by", "replaced_by")


def live_key_list(team_id: uuid.UUID, now: datetime) -> QuerySet[ApiKey]:
    """Return the keys of a team that work at `now`, newest first."""
    return api_key_list(team_id).filter(_is_live(now))


def ended_key_list(team_id: uuid.UUID, now: datetime) -> QuerySet[ApiKey]:
    """Return the keys of a team that do not work any more at `now`, newest first."""
    return api_key_list(team_id).exclude(_is_live(now))


def access_api_key(team_id: uuid.UUID, key_id: uuid.UUID) -> ApiKey:
    """Return a key of a team, dead or alive.

    Raises: NotFound if there is none.
    """
    rows = ApiKey.objects.for_team(team_id)
    api_key = rows.select_related("team", "created_by").filter(pk=key_id).first()
    if api_key is None:
        raise NotFound(f"there is no API key {str(key_id)!r} in this team")
    return api_key


def mail_is_set_up() -> bool:
    """Return whether the site sends mail, so that pages may announce one."""
    backend: str = settings.EMAIL_BACKEND
    if backend.endswith(_NEEDS_HOST):
        return bool(settings.EMAIL_HOST)
    return not backend.endswith(_SENDS_NO_MAIL)


def _signs_in(session: Mapping[str, Any], user: User | None) -> bool:
    if user is None or session.get(SESSION_KEY) != str(user.pk):
        return False
    given = str(session.get(HASH_SESSION_KEY, ""))
    hashes = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(given, each) for each in hashes)


def _is_live(now: datetime) -> Q:
    # As `ApiKey.is_live`.
    return Q(revoked_at=None, expires_at__gt=now)


def _as_uuid(value: str | uuid.UUID) -> uuid.UUID | None:
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return None
