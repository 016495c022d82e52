"""Members come, change and go; who may do it, and what ends with a membership."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import ApiKey, Membership, Role, Team, User
from apps.accounts.services import (
    api_key_peek,
    api_key_resolve,
    invitation_create,
    member_add,
    member_change_role,
    member_leave,
    member_remove,
)
from apps.core.errors import Conflict, InvalidFields, NotAllowed, NotFound
from tests.accounts.ledger import actions, data, recorded
from tests.factories import (
    ACTOR,
    MembershipFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)

pytestmark = pytest.mark.django_db


def role_of(team: Team, user: User) -> str | None:
    row = Membership.objects.for_team(team.id).filter(user=user).first()
    return row.role if row else None


def test_member_is_added_once():
    team, user = TeamFactory.create(), UserFactory.create()
    member_add(team=team, user=user, role=Role.VIEWER, actor=ACTOR)
    with pytest.raises(InvalidFields, match="already"):
        member_add(team=team, user=user, role=Role.OWNER, actor=ACTOR)
    assert actions(team) == ["member.added"]
    assert role_of(team, user) == "viewer"


def test_unknown_role_is_refused():
    team, user = TeamFactory.create(), UserFactory.create()
    with pytest.raises(InvalidFields, match="unknown role 'boss'"):
        member_add(team=team, user=user, role="boss", actor=ACTOR)
    member = MembershipFactory.create()
    with pytest.raises(InvalidFields, match="unknown role 'boss'"):
        member_change_role(team=member.team, user=member.user, role="boss", actor=ACTOR)


@pytest.mark.parametrize("acting_role", ["member", "reviewer", "viewer", "nobody"])
def test_lesser_roles_touch_no_member(acting_role: str):
    member, newcomer = MembershipFactory.create(), UserFactory.create()
    team, user = member.team, member.user
    with pytest.raises(NotAllowed):
        member_add(
            team=team,
            user=newcomer,
            role=Role.VIEWER,
            actor=ACTOR,
            acting_role=acting_role,
        )
    with pytest.raises(NotAllowed):
        member_change_role(
            team=team, user=user, role="viewer", actor=ACTOR, acting_role=acting_role
        )
    with pytest.raises(NotAllowed):
        member_remove(team=team, user=user, actor=ACTOR, acting_role=acting_role)
    assert role_of(team, user) == "member"
    assert actions(team) == []


def test_admin_makes_changes_and_removes_no_owner():
    team = TeamFactory.create()
    owner, _, admin = [
        MembershipFactory.create(team=team, role=role).user
        for role in ("owner", "owner", "admin")
    ]
    with pytest.raises(NotAllowed, match="only owners"):
        member_add(
            team=team,
            user=UserFactory.create(),
            role="owner",
            actor=ACTOR,
            acting_role="admin",
        )
    for user, role in ((owner, "member"), (admin, "owner")):
        with pytest.raises(NotAllowed, match="only owners"):
            member_change_role(
                team=team, user=user, role=role, actor=ACTOR, acting_role="admin"
            )
    with pytest.raises(NotAllowed, match="only owners"):
        member_remove(team=team, user=owner, actor=ACTOR, acting_role="admin")
    assert actions(team) == []


@pytest.mark.parametrize("acting_role", [None, "owner", "admin"])
def test_manager_adds_changes_and_removes_members(acting_role: str | None):
    owner, user = MembershipFactory.create(role="owner"), UserFactory.create()
    team = owner.team
    who: dict[str, Any] = {
        "team": team,
        "user": user,
        "actor": ACTOR,
        "acting_role": acting_role,
    }
    member_add(role="viewer", **who)
    member_change_role(role="member", **who)
    assert role_of(team, user) == "member"
    member_remove(**who)
    assert role_of(team, user) is None
    assert actions(team) == ["member.added", "member.changed", "member.removed"]


def test_change_of_role_records_before_and_after():
    member = MembershipFactory.create(role="member")
    changed = member_change_role(
        team=member.team, user=member.user, role=Role.ADMIN, actor=ACTOR
    )
    assert changed.role == "admin"
    assert data(member.team, "member.changed") == {
        "user": str(member.user_id),
        "before": {"role": "member"},
        "after": {"role": "admin"},
    }


def test_same_role_again_records_nothing():
    member = MembershipFactory.create(role="owner")
    member_change_role(team=member.team, user=member.user, role="owner", actor=ACTOR)
    assert actions(member.team) == []


def test_stranger_can_be_neither_changed_nor_removed():
    stranger, team = MembershipFactory.create().user, TeamFactory.create()
    with pytest.raises(NotFound) as caught:
        member_change_role(team=team, user=stranger, role="viewer", actor=ACTOR)
    assert stranger.email not in caught.value.message
    with pytest.raises(NotFound):
        member_remove(team=team, user=stranger, actor=ACTOR)
    with pytest.raises(NotFound):
        member_leave(team=team, user=stranger, actor=ACTOR)


def test_last_owner_stays_owner():
    owner = MembershipFactory.create(role=Role.OWNER)
    MembershipFactory.create(team=owner.team, role=Role.ADMIN)
    MembershipFactory.create(role=Role.OWNER)
    who: dict[str, Any] = {"team": owner.team, "user": owner.user, "actor": ACTOR}
    with pytest.raises(Conflict, match="last owner"):
        member_remove(**who)
    with pytest.raises(Conflict, match="last owner"):
        member_leave(**who)
    with pytest.raises(Conflict, match="last owner"):
        member_change_role(role="admin", **who)
    assert role_of(owner.team, owner.user) == "owner"
    assert actions(owner.team) == []


def test_one_of_two_owners_may_go():
    owner = MembershipFactory.create(role=Role.OWNER)
    MembershipFactory.create(team=owner.team, role=Role.OWNER)
    member_leave(team=owner.team, user=owner.user, actor=ACTOR)
    assert role_of(owner.team, owner.user) is None
    assert actions(owner.team) == ["member.left"]


def test_removal_revokes_the_live_keys_the_member_made_here(
    django_capture_on_commit_callbacks,
):
    member = MembershipFactory.create()
    team, user = member.team, member.user
    key = issue_key(team, created_by=user)
    dead = issue_key(team, created_by=user)
    ApiKey.objects.for_team(team.id).filter(pk=dead.row.pk).update(
        expires_at=timezone.now() - timedelta(days=1)
    )
    others = [issue_key(team), issue_key(team, created_by=UserFactory.create())]
    elsewhere = issue_key(created_by=user)
    api_key_resolve(key.secret, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        member_remove(team=team, user=user, actor=ACTOR)
    assert api_key_peek(key.secret) is None
    for each in (key, dead, elsewhere, *others):
        each.row.refresh_from_db()
    assert key.row.revoked_at is not None
    assert not any(k.row.revoked_at for k in (dead, elsewhere, *others))
    assert actions(team)[-2:] == ["member.removed", "api_key.revoked"]
    assert data(team, "api_key.revoked") == {
        "name": key.row.name,
        "prefix": key.row.prefix,
        "reason": "its maker left the team",
    }


def test_leaving_revokes_keys_too():
    member = MembershipFactory.create()
    key = issue_key(member.team, created_by=member.user)
    member_leave(team=member.team, user=member.user, actor=ACTOR)
    key.row.refresh_from_db()
    assert key.row.revoked_at is not None


def test_lesser_role_keeps_its_keys():
    member = MembershipFactory.create()
    key = issue_key(member.team, created_by=member.user)
    member_change_role(team=member.team, user=member.user, role="viewer", actor=ACTOR)
    key.row.refresh_from_db()
    assert key.row.revoked_at is None


def test_removed_member_cannot_return_by_an_old_invitation():
    team, user = TeamFactory.create(), UserFactory.create()
    invitation, _ = invitation_create(
        team=team, email=user.email, role="member", actor=ACTOR
    )
    member_add(team=team, user=user, role="member", actor=ACTOR)
    member_remove(team=team, user=user, actor=ACTOR)
    invitation.refresh_from_db()
    assert invitation.revoked_at is not None
    assert actions(team)[-2:] == ["member.removed", "invitation.revoked"]
    assert user.email not in recorded(team)


def test_member_of_a_deleted_team_is_not_found():
    member = MembershipFactory.create()
    Team.objects.filter(pk=member.team_id).delete()
    with pytest.raises(NotFound):
        member_remove(team=member.team, user=member.user, actor=ACTOR)
