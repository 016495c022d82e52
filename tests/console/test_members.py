"""Members: the list, roles, removal, leaving."""

import pytest

from apps.accounts.models import Membership, Role
from tests.conftest import membership
from tests.console.conftest import text_of
from tests.factories import MembershipFactory

LIST = "/members/"


def member_url(user, what=""):
    return f"/members/{user.id}/{what}"


def test_everybody_in_the_team_sees_its_members(vera):
    page = text_of(vera.get(LIST))
    assert "alice@example.org" in page
    assert "mallory@example.org" not in page


def test_anonymous_signs_in_first(client, cast):
    assert client.get(LIST).status_code == 302


def test_viewer_is_told_why_nothing_can_be_changed(vera):
    page = text_of(vera.get(LIST))
    assert "Your role “Viewer” lets you see this page" in page
    assert "Invite a member" not in page


def test_owner_changes_a_role(alice, cast, actions):
    response = alice.post(member_url(cast.bob), {"role": "reviewer"}, follow=True)
    assert membership(cast.team, cast.bob).role == Role.REVIEWER
    assert "Bob is now reviewer" in text_of(response)
    assert "member.changed" in actions()


def test_last_owner_stays_owner_and_is_told(alice, cast):
    response = alice.post(member_url(cast.alice), {"role": "member"})
    assert membership(cast.team, cast.alice).role == Role.OWNER
    assert "last owner" in text_of(response)


def test_unknown_role_shows_an_error_and_saves_nothing(alice, cast):
    response = alice.post(member_url(cast.bob), {"role": "emperor"})
    assert "Choose one of these roles." in text_of(response)
    assert membership(cast.team, cast.bob).role == Role.MEMBER


def test_admin_makes_no_owners(ada, cast):
    page = text_of(ada.post(member_url(cast.bob), {"role": "owner"}))
    assert "Choose one of these roles." in page
    assert membership(cast.team, cast.bob).role == Role.MEMBER


@pytest.mark.parametrize("what", ["", "remove/"])
def test_admin_does_not_touch_owners(ada, cast, what):
    assert ada.get(member_url(cast.alice, what)).status_code == 403
    assert ada.post(member_url(cast.alice, what), {"role": "member"}).status_code == 403


@pytest.mark.parametrize("what", ["", "remove/"])
def test_member_manages_nobody(bob, cast, what):
    response = bob.post(member_url(cast.vera, what), {"role": "member"})
    assert response.status_code == 403
    assert membership(cast.team, cast.vera).role == Role.VIEWER


@pytest.mark.parametrize("what", ["", "remove/"])
def test_member_of_another_team_is_not_found(alice, cast, what):
    assert alice.get(member_url(cast.mallory, what)).status_code == 404
    assert alice.post(member_url(cast.mallory, what)).status_code == 404


def test_owner_removes_a_member_after_being_asked(alice, cast):
    assert "Remove Bob?" in text_of(alice.get(member_url(cast.bob, "remove/")))
    alice.post(member_url(cast.bob, "remove/"))
    members = Membership.objects.for_team(cast.team.id)
    assert not members.filter(user=cast.bob).exists()


def test_removed_member_sees_nothing_any_more(alice, bob, cast):
    assert bob.get(LIST).status_code == 200
    alice.post(member_url(cast.bob, "remove/"))
    response = bob.get(LIST)
    assert response.status_code == 302
    assert response["Location"] == "/teams/new/"


def test_member_leaves_after_being_asked(bob, cast):
    assert "Leave the team “Orchestra”?" in text_of(bob.get("/team/leave/"))
    bob.post("/team/leave/")
    members = Membership.objects.for_team(cast.team.id)
    assert not members.filter(user=cast.bob).exists()


def test_last_owner_cannot_leave(alice, cast):
    response = alice.post("/team/leave/", follow=True)
    assert "last owner" in text_of(response)
    assert membership(cast.team, cast.alice).role == Role.OWNER


def test_list_takes_the_same_queries_for_many_members(alice, cast, recorded_queries):
    MembershipFactory.create_batch(30, team=cast.team)
    with recorded_queries():
        alice.get(LIST)
