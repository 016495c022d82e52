"""Adding, changing and removing members. A team keeps an owner, whatever happens."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.accounts.models import Invitation, Membership, Permission, Role, Team, User
from apps.accounts.selectors import require_permission
from apps.accounts.services.api_keys import revoke_keys_of
from apps.accounts.services.fields import clean_role
from apps.accounts.services.key_delegation import require_role_within
from apps.accounts.services.ledger_entries import apply_changes, lock_team, record
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotAllowed, NotFound
from apps.core.validation import clean_fields


@transaction.atomic
def member_add(
    *,
    team: Team,
    user: User,
    role: str,
    actor: Actor,
    acting_role: str | None = None,
) -> Membership:
    """Make `user` a member of `team`.

    Raises: InvalidFields if they are one already; NotAllowed.
    """
    role = clean_fields({"role": role}, {"role": clean_role})["role"]
    require_manager(acting_role, role)
    membership, is_new = Membership.objects.for_team(team.id).get_or_create(
        team=team, user=user, defaults={"role": role}
    )
    if not is_new:
        complaint = f"{user.email!r} is in team {team.slug!r} already"
        raise InvalidFields({"user": [complaint]})
    facts = {"user": str(user.id), "role": role}
    record(team.id, EntryDraft("member.added", "user", user.id, actor, facts))
    return membership


@transaction.atomic
def member_change_role(
    *,
    team: Team,
    user: User,
    role: str,
    actor: Actor,
    acting_role: str | None = None,
    within: KeyHolder | None = None,
) -> Membership:
    """Give a member another role. Only owners make, change or unmake owners.

    `within` is the key that asks; None if a person does. It gives no role that reaches
    beyond its maker's, so it raises its maker neither.

    The keys they made go on working, even if the new role may not run: a key speaks for
    the team. Whoever wants them gone revokes them.
    Raises: NotFound for a stranger; Conflict for the last owner; InvalidFields;
    NotAllowed.
    """
    role = clean_fields({"role": role}, {"role": clean_role})["role"]
    membership = _locked_membership(team, user)
    require_manager(acting_role, membership.role, role)
    require_role_within(role, within, team.id)
    if role != Role.OWNER:
        _keep_an_owner(membership)
    data = apply_changes(membership, {"role": role})
    if data is not None:
        facts = {"user": str(user.id), **data}
        record(team.id, EntryDraft("member.changed", "user", user.id, actor, facts))
    return membership


@transaction.atomic
def member_remove(
    *, team: Team, user: User, actor: Actor, acting_role: str | None = None
) -> None:
    """End a membership, and revoke the keys and links which that member made in it.

    A waiting invitation to their address ends too, so an old mail does not let them
    back in. Their runs stay. Keys stop at once in this process, within `CACHE_SECONDS`
    in others. Raises: NotFound for a stranger; Conflict for the last owner; NotAllowed.
    """
    membership = _locked_membership(team, user)
    require_manager(acting_role, membership.role)
    _end(membership, "member.removed", actor)


@transaction.atomic
def member_leave(*, team: Team, user: User, actor: Actor) -> None:
    """Let a member go who wants to; what ends with it is as in `member_remove`.

    Raises: NotFound for a stranger; Conflict for the last owner.
    """
    _end(_locked_membership(team, user), "member.left", actor)


def require_manager(acting_role: str | None, *roles: str) -> None:
    """Raise NotAllowed unless `acting_role` may give, change and take these roles.

    None is the operator, who may do all of it.
    """
    if acting_role is None:
        return
    require_permission(acting_role, Permission.MANAGE_MEMBERS)
    if Role.OWNER in roles and acting_role != Role.OWNER:
        raise NotAllowed("only owners make, change or remove owners")


def _locked_membership(team: Team, user: User) -> Membership:
    lock_team(team.id)
    rows = Membership.objects.for_team(team.id).select_related("team", "user")
    membership = rows.filter(user=user).first()
    if membership is None:
        raise NotFound("there is no such member in this team")
    return membership


def _keep_an_owner(membership: Membership) -> None:
    owners = Membership.objects.for_team(membership.team_id).filter(role=Role.OWNER)
    if membership.role == Role.OWNER and owners.count() == 1:
        raise Conflict(
            f"{membership.user.get_full_name()!r} is the last owner of this team; "
            f"make another member an owner first"
        )


def _end(membership: Membership, action: str, actor: Actor) -> None:
    _keep_an_owner(membership)
    team_id, user = membership.team_id, membership.user
    facts = {"user": str(user.id), "role": membership.role}
    membership.delete()
    import_string(settings.MEMBER_GONE)(team_id, user.id, actor)
    record(
        team_id,
        EntryDraft(action, "user", user.id, actor, facts),
        *_withdraw_invitations(membership, actor),
        *revoke_keys_of(team_id=team_id, user=user, actor=actor),
    )


def _withdraw_invitations(membership: Membership, actor: Actor) -> list[EntryDraft]:
    waiting = Invitation.objects.for_team(membership.team_id).filter(
        email=membership.user.email, accepted_at=None, revoked_at=None
    )
    ids = list(waiting.values_list("id", flat=True))
    waiting.update(revoked_at=timezone.now())
    facts = {"reason": "the member has gone"}
    return [
        EntryDraft("invitation.revoked", "invitation", i, actor, facts) for i in ids
    ]


def setup_checklist_dismiss(membership: Membership) -> None:
    """Hide the checklist of the team's set-up from one member.

    It changes what a page shows and nothing else, so it is not recorded.
    """
    rows = Membership.objects.for_team(membership.team_id)
    rows.filter(pk=membership.pk).update(hides_setup=True)
