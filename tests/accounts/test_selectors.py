"""Who sees which team, and what a role allows."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import AnonymousUser

from apps.accounts.models import Permission, Role
from apps.accounts.selectors import (
    access_api_key,
    access_member,
    access_team,
    api_key_list,
    can_read_runs,
    can_run,
    member_list,
    membership_of,
    require_permission,
    role_allows,
    team_list,
)
from apps.core.errors import NotAllowed, NotFound
from tests.factories import MembershipFactory, TeamFactory, UserFactory, issue_key


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("owner", True),
        ("admin", True),
        ("member", True),
        ("reviewer", False),
        ("viewer", False),
        ("nobody", False),
    ],
)
def test_role_may_run(role: str, expected: bool):
    assert can_run(role) is expected


def test_every_role_may_read_runs():
    assert all(can_read_runs(role) for role in Role.values)
    assert not can_read_runs("nobody")


ALLOWED = {
    "owner": set(Permission),
    "admin": set(Permission) - {Permission.MANAGE_TEAM},
    "member": {
        Permission.READ_RUNS,
        Permission.READ_TEAM,
        Permission.RUN,
        Permission.SHARE_RUNS,
    },
    "reviewer": {
        Permission.READ_RUNS,
        Permission.READ_TEAM,
        Permission.READ_AUDIT,
        Permission.EXPORT_RUNS,
        Permission.MANAGE_HOLDS,
        Permission.APPROVE_PLANS,
        Permission.REVIEW_RUNS,
        Permission.SHARE_RUNS,
    },
    "viewer": {Permission.READ_RUNS, Permission.READ_TEAM},
    "nobody": set(),
}


@pytest.mark.parametrize("role", ALLOWED)
def test_role_has_its_permissions_and_no_others(role: str):
    assert {each for each in Permission if role_allows(role, each)} == ALLOWED[role]


def test_missing_permission_is_named_in_words():
    with pytest.raises(
        NotAllowed, match=r"'viewer'.*invite, change and remove members"
    ):
        require_permission("viewer", Permission.MANAGE_MEMBERS)
    require_permission("admin", Permission.MANAGE_MEMBERS)


@pytest.mark.django_db
class TestTeams:
    """Reads that need rows."""

    def test_member_reaches_the_team_by_slug_and_by_id(self):
        member = MembershipFactory.create()
        for wanted in (member.team.slug, member.team.id, str(member.team.id)):
            assert access_team(user=member.user, team_slug_or_id=wanted) == member.team

    def test_outsider_gets_404(self):
        member, outsider = MembershipFactory.create(), MembershipFactory.create()
        with pytest.raises(NotFound):
            access_team(user=outsider.user, team_slug_or_id=member.team.slug)

    def test_unknown_team_reads_like_a_foreign_one(self):
        team, user = TeamFactory.create(slug="known"), UserFactory.create()
        messages = []
        for slug in (team.slug, "nowhere"):
            with pytest.raises(NotFound) as caught:
                access_team(user=user, team_slug_or_id=slug)
            messages.append(caught.value.message.replace(slug, "…"))
        assert messages[0] == messages[1]

    def test_anonymous_visitor_has_no_team(self):
        team = TeamFactory.create()
        assert list(team_list(AnonymousUser())) == []
        assert membership_of(AnonymousUser(), team.id) is None

    def test_deactivated_member_has_no_team(self):
        member = MembershipFactory.create(user__is_active=False)
        assert list(team_list(member.user)) == []
        assert membership_of(member.user, member.team_id) is None

    def test_membership_is_of_that_team_only(self):
        member = MembershipFactory.create()
        assert membership_of(member.user, member.team_id) == member
        assert membership_of(member.user, uuid.uuid4()) is None

    def test_teams_are_listed_by_name(self):
        user = UserFactory.create()
        for name in ("b", "a"):
            MembershipFactory.create(user=user, team__name=name)
        MembershipFactory.create()
        assert [team.name for team in team_list(user)] == ["a", "b"]


@pytest.mark.django_db
class TestMembersAndKeys:
    """Lists of one team, and rows reached by id."""

    def test_members_are_listed_by_role_then_name(self, django_assert_num_queries):
        team = TeamFactory.create()
        for role, name in (
            ("viewer", "a"),
            ("member", "Bea"),
            ("member", "anna"),
            ("member", ""),
            ("owner", "z"),
        ):
            email = f"{name or 'azalea'}@example.org".lower()
            MembershipFactory.create(
                team=team, role=role, user__name=name, user__email=email
            )
        MembershipFactory.create()
        with django_assert_num_queries(1):
            people = [row.user.get_full_name() for row in member_list(team.id)]
        assert people == ["z", "anna", "azalea@example.org", "Bea", "a"]

    def test_member_of_another_team_is_not_found(self):
        member = MembershipFactory.create()
        assert access_member(member.team_id, member.user_id) == member
        with pytest.raises(NotFound):
            access_member(TeamFactory.create().id, member.user_id)
        with pytest.raises(NotFound):
            access_member(member.team_id, member.id)

    def test_keys_are_listed_newest_first_in_one_query(self, django_assert_num_queries):
        team = TeamFactory.create()
        keys = [issue_key(team, created_by=UserFactory.create()).row for _ in range(3)]
        issue_key()
        with django_assert_num_queries(1):
            listed = list(api_key_list(team.id))
            assert all(key.created_by and key.created_by.email for key in listed)
        assert listed == keys[::-1]

    def test_key_of_another_team_is_not_found(self):
        key = issue_key().row
        assert access_api_key(key.team_id, key.id) == key
        with pytest.raises(NotFound):
            access_api_key(TeamFactory.create().id, key.id)
