"""Me, the team, its members and invitations, over REST."""

from __future__ import annotations

import re

import pytest
from django.core import mail

from apps.accounts.models import Invitation, Membership, Role, Scope, Team
from apps.accounts.services import api_key_cache_clear
from tests.conftest import membership
from tests.factories import MembershipFactory, UserFactory, issue_key
from tests.rest.conftest import actions, fault, keyed, member, program

# --- me ------------------------------------------------------------------------------


def test_a_person_learns_who_they_are_and_their_teams(alice, cast):
    MembershipFactory.create(team=cast.other_team, user=cast.alice, role=Role.VIEWER)
    told = alice.get("me/").json()
    assert told["type"] == "user"
    assert told["user"]["email"] == "alice@example.org"
    assert (told["team"]["slug"], told["role"]) == ("orchestra", "owner")
    teams = [(team["slug"], team["role"]) for team in told["teams"]]
    assert teams == [("orchestra", "owner"), ("others", "viewer")]


def test_a_key_learns_what_it_may_do(cast):
    told = keyed(cast.team, Scope.READ, name="Reader").get("me/").json()
    assert told["type"] == "api_key"
    assert (told["key"]["name"], told["key"]["scopes"]) == ("Reader", ["runs:read"])
    assert (told["team"]["slug"], told["user"]) == ("orchestra", None)


def test_somebody_without_a_team_learns_that(db):
    told = member(UserFactory.create(email="new@example.org")).get("me/").json()
    assert (told["team"], told["teams"]) == (None, [])


def test_leaving_ends_membership_and_the_keys_one_made(bob, cast):
    issued = issue_key(cast.team, created_by=cast.bob)
    assert bob.delete("me/membership/").status_code == 204
    assert actions(cast.team)[-2:] == ["member.left", "api_key.revoked"]
    api_key_cache_clear()
    fault(program(issued.secret).get("team/"), 401)


def test_the_last_owner_cannot_leave(alice):
    assert fault(alice.delete("me/membership/"), 409)["code"] == "conflict"


# --- team ----------------------------------------------------------------------------


def test_an_owner_renames_the_team(alice, cast):
    answer = alice.patch("team/", {"name": "Choir", "requests_per_minute": 60})
    assert answer.json()["name"] == "Choir"
    cast.team.refresh_from_db()
    assert (cast.team.name, cast.team.requests_per_minute) == ("Choir", 60)
    assert actions(cast.team)[-1] == "team.updated"


def test_a_key_tells_its_teams_new_name_at_once(
    alice, cast, django_capture_on_commit_callbacks
):
    caller = keyed(cast.team, Scope.READ)
    before = caller.get("me/").json()["team"]
    named = {"slug": "orchestra", "name": "Orchestra"}
    assert before == {"id": str(cast.team.id), **named}
    with django_capture_on_commit_callbacks(execute=True):
        alice.patch("team/", {"name": "Choir"})
    assert caller.get("me/").json()["team"] == {**before, "name": "Choir"}


def test_an_admin_sets_rates_but_not_the_name(cast):
    row = membership(cast.team, cast.bob)
    row.role = Role.ADMIN
    row.save()
    bob = member(cast.bob)
    assert bob.patch("team/", {"tokens_per_minute": 5}).status_code == 200
    fault(bob.patch("team/", {"name": "Choir"}), 403)


def test_a_team_goes_only_with_its_slug(alice, cast):
    fault(alice.delete("team/"), 400)
    fault(alice.delete("team/?confirmation=Orchestra"), 400)
    assert alice.delete("team/?confirmation=orchestra").status_code == 204
    assert not Team.objects.filter(id=cast.team.id).exists()


def test_a_key_cannot_delete_its_team(cast):
    caller = keyed(cast.team, *Scope)
    error = fault(caller.delete("team/?confirmation=orchestra"), 403)
    assert "no API key" in error["message"]


# --- members -------------------------------------------------------------------------


def test_members_are_listed_with_their_roles(vera):
    listed = vera.get("members/").json()["data"]
    assert [(m["name"], m["role"]) for m in listed] == [
        ("Alice", "owner"),
        ("Bob", "member"),
        ("Vera", "viewer"),
    ]


def test_a_member_is_read_by_the_id_of_the_user(vera, cast):
    answer = vera.get(f"members/{cast.bob.id}/").json()
    assert answer["email"] == "bob@example.org"


def test_an_owner_changes_a_role(alice, cast):
    answer = alice.patch(f"members/{cast.bob.id}/", {"role": "admin"})
    assert answer.json()["role"] == "admin"
    assert membership(cast.team, cast.bob).role == "admin"
    assert actions(cast.team)[-1] == "member.changed"


@pytest.mark.parametrize("body", [{}, {"role": "king"}, {"role": 1}, {"role": None}])
def test_a_role_that_is_none_is_refused(alice, cast, body):
    error = fault(alice.patch(f"members/{cast.bob.id}/", body), 400)
    assert error["fields"].keys() == {"role"}


def test_the_last_owner_stays_one(alice, cast):
    fault(alice.patch(f"members/{cast.alice.id}/", {"role": "member"}), 409)
    fault(alice.delete(f"members/{cast.alice.id}/"), 409)


def test_a_key_cannot_make_an_owner(cast):
    caller = keyed(cast.team, Scope.MEMBERS_WRITE)
    fault(caller.patch(f"members/{cast.bob.id}/", {"role": "owner"}), 403)
    fault(caller.delete(f"members/{cast.alice.id}/"), 403)


def test_a_member_is_removed_with_their_keys(alice, cast):
    issued = issue_key(cast.team, created_by=cast.bob)
    assert alice.delete(f"members/{cast.bob.id}/").status_code == 204
    assert not Membership.objects.for_team(cast.team.id).filter(user=cast.bob).exists()
    assert actions(cast.team)[-2:] == ["member.removed", "api_key.revoked"]
    issued.row.refresh_from_db()
    assert issued.row.revoked_at is not None


# --- invitations ---------------------------------------------------------------------


def test_an_invitation_goes_out_by_mail_and_not_in_the_answer(alice, cast):
    answer = alice.post("invitations/", {"email": "Carol@example.org"})
    assert answer.status_code == 201
    told = answer.json()
    assert (told["email"], told["role"], told["state"]) == (
        "carol@example.org",
        "member",
        "open",
    )
    assert told["invited_by"] == "Alice"
    assert answer["Location"].endswith(f"/api/v1/invitations/{told['id']}/")
    (sent,) = mail.outbox
    (link,) = re.findall(r"/invitations/([^/\s]+)/", str(sent.body))
    assert link not in answer.content.decode()
    assert actions(cast.team)[-1] == "invitation.created"


def test_an_invitation_is_listed_sent_again_and_revoked(alice, cast):
    invited = alice.post("invitations/", {"email": "carol@example.org"}).json()
    (listed,) = alice.get("invitations/").json()["data"]
    assert listed == invited
    place = f"invitations/{invited['id']}/"
    assert alice.post(f"{place}resend/").status_code == 200
    assert alice.delete(place).status_code == 204
    assert alice.get(place).json()["state"] == "revoked"
    fault(alice.post(f"{place}resend/"), 409)
    assert actions(cast.team)[-2:] == ["invitation.resent", "invitation.revoked"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "email"),
        ({"email": "nobody"}, "email"),
        ({"email": "bob@example.org"}, "email"),
        ({"email": "c@example.org", "role": "king"}, "role"),
        ({"email": "c@example.org", "team": "others"}, "team"),
        ({"email": "c@example.org", "accepted_at": None}, "accepted_at"),
    ],
)
def test_a_bad_invitation_is_refused(alice, cast, body, field):
    assert fault(alice.post("invitations/", body), 400)["fields"].keys() == {field}
    assert not Invitation.objects.for_team(cast.team.id).exists()


def test_a_key_invites_no_owner(cast):
    caller = keyed(cast.team, Scope.MEMBERS_WRITE)
    body = {"email": "c@example.org", "role": "owner"}
    fault(caller.post("invitations/", body), 403)
