"""Who sees which team, and what a role allows."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import AnonymousUser

from apps.accounts.models import Role
from apps.accounts.selectors import (
    access_team,
    can_read_runs,
    can_run,
    membership_of,
    team_list,
)
from apps.core.errors import NotFound
from tests.factories import MembershipFactory, TeamFactory, UserFactory


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
