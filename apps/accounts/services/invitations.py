"""Inviting people by email, and what they do with it.

The token is in the link of the mail and in what `invitation_create` returns; rows and
entries do not hold it. Addresses are in the bodies of entries, which can be erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.digests import INVITATION, digests_of, token_generate
from apps.accounts.emails import invitation_mail_send
from apps.accounts.models import Invitation, Membership, Team, User
from apps.accounts.principal import user_actor
from apps.accounts.selectors import invitation_find
from apps.accounts.services.fields import clean_email, clean_role
from apps.accounts.services.key_delegation import require_role_within
from apps.accounts.services.ledger_entries import record, to_seconds
from apps.accounts.services.members import member_add, require_manager
from apps.accounts.types import KeyHolder
from apps.audit.types import NOTHING, Actor, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotAllowed, NotFound
from apps.core.validation import Cleaner, clean_fields

INVITATION_LIFETIME = timedelta(days=7)
_FIELDS: Mapping[str, Cleaner] = {"email": clean_email, "role": clean_role}


@transaction.atomic
def invitation_create(
    *,
    team: Team,
    email: str,
    role: str,
    actor: Actor,
    invited_by: User | None = None,
    acting_role: str | None = None,
    within: KeyHolder | None = None,
) -> tuple[Invitation, str]:
    """Invite an address into a team; return the invitation and the token of its link.

    The mail leaves when the transaction commits. An expired invitation of the address
    makes room. `within` is the key that asks; None if a person does. It gives no role
    that reaches beyond its maker's. Raises: InvalidFields for a bad address or role, a
    member, or an address that is invited already; NotAllowed.
    """
    values = clean_fields({"email": email, "role": role}, _FIELDS)
    require_manager(acting_role, values["role"])
    require_role_within(values["role"], within, team.id)
    now = timezone.now()
    _refuse_duplicate(team, values["email"], now)
    token = token_generate()
    try:
        with transaction.atomic():
            invitation = Invitation.objects.create(
                team=team,
                digest=_digest(token),
                invited_by=invited_by,
                expires_at=now + INVITATION_LIFETIME,
                **values,
            )
    except IntegrityError:
        # Somebody else invited the same address a moment ago.
        raise _invited_already() from None
    facts = {"role": invitation.role, "expires_at": to_seconds(invitation.expires_at)}
    _record(invitation, "invitation.created", actor, facts)
    invitation_mail_send(invitation, token=token)
    return invitation, token


@transaction.atomic
def invitation_resend(
    *, invitation: Invitation, actor: Actor, acting_role: str | None = None
) -> tuple[Invitation, str]:
    """Send an invitation again, with a new link and a new term; the old link is dead.

    Raises: Conflict if it was accepted or revoked; NotAllowed; NotFound.
    """
    row = _locked(invitation)
    require_manager(acting_role, row.role)
    if not row.is_waiting:
        raise Conflict("this invitation was accepted or revoked; make a new one")
    token, before = token_generate(), row.expires_at
    row.digest = _digest(token)
    row.expires_at = timezone.now() + INVITATION_LIFETIME
    row.save(update_fields=["digest", "expires_at"])
    change = {
        "before": {"expires_at": to_seconds(before)},
        "after": {"expires_at": to_seconds(row.expires_at)},
    }
    _record(row, "invitation.resent", actor, change)
    invitation_mail_send(row, token=token)
    return row, token


@transaction.atomic
def invitation_revoke(
    *, invitation: Invitation, actor: Actor, acting_role: str | None = None
) -> Invitation:
    """Make an invitation's link dead. Doing it again changes and records nothing.

    Raises: Conflict if it was accepted; NotAllowed; NotFound.
    """
    row = _locked(invitation)
    require_manager(acting_role, row.role)
    if row.accepted_at is not None:
        raise Conflict("this invitation was accepted; remove the member instead")
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
        _record(row, "invitation.revoked", actor, {"role": row.role})
    return row


@transaction.atomic
def invitation_accept(
    *, token: str, user: User, context: Mapping[str, str] = NOTHING
) -> Membership:
    """Make the invited person a member; a member already keeps their role.

    `context`: of the request, for the ledger. Raises: NotFound if the token is unknown,
    used, revoked or expired; NotAllowed if the invitation was sent to another address.
    """
    row = _locked(invitation_find(token))
    now = timezone.now()
    # Read again under the lock: of two clicks at once, one comes too late.
    if not row.is_open(now) or row.digest not in digests_of(token, purpose=INVITATION):
        raise NotFound("this invitation has just been used or changed")
    if not user.is_active or row.email != user.email.lower():
        raise NotAllowed(
            "this invitation was sent to another address; sign in with that one"
        )
    row.accepted_at = now
    row.save(update_fields=["accepted_at"])
    actor = user_actor(user, context)
    _record(row, "invitation.accepted", actor, {"role": row.role})
    known = Membership.objects.for_team(row.team_id).filter(user=user).first()
    if known is not None:
        return known
    return member_add(team=row.team, user=user, role=row.role, actor=actor)


def _refuse_duplicate(team: Team, email: str, now: datetime) -> None:
    if Membership.objects.for_team(team.id).filter(user__email=email).exists():
        raise InvalidFields({"email": ["this person is in the team already"]})
    waiting = Invitation.objects.for_team(team.id).filter(
        email=email, accepted_at=None, revoked_at=None
    )
    # One that has expired was dead before, so nothing is recorded.
    waiting.filter(expires_at__lte=now).update(revoked_at=now)
    if waiting.exists():
        raise _invited_already()


def _invited_already() -> InvalidFields:
    complaint = "this address is invited already; send that invitation again instead"
    return InvalidFields({"email": [complaint]})


def _locked(invitation: Invitation) -> Invitation:
    rows = Invitation.objects.for_team(invitation.team_id)
    # Locks the invitation alone: the inviter's account may be deleted.
    rows = rows.select_related("team", "invited_by").select_for_update(of=("self",))
    row = rows.filter(pk=invitation.pk).first()
    if row is None:
        raise NotFound("there is no such invitation in this team")
    return row


def _digest(token: str) -> str:
    return digests_of(token, purpose=INVITATION)[0]


def _record(
    invitation: Invitation, action: str, actor: Actor, facts: Mapping[str, Any]
) -> None:
    bodies = {"email": invitation.email}
    entry = EntryDraft(action, "invitation", invitation.id, actor, dict(facts), bodies)
    record(invitation.team_id, entry)
