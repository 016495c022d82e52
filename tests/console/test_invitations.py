"""Invitations: made, sent again, revoked, accepted."""

import re

import pytest

from apps.accounts.models import Invitation, Role
from apps.accounts.services import invitation_create
from tests.conftest import membership
from tests.console.conftest import browser_of, text_of
from tests.factories import ACTOR, UserFactory

NEW = "/members/invite/"
NELL = "nell@example.org"


def invitations(cast):
    return Invitation.objects.for_team(cast.team.id)


@pytest.fixture
def invited(cast):
    """An open invitation of Nell and its link."""
    invitation, token = invitation_create(
        team=cast.team, email=NELL, role="member", actor=ACTOR, invited_by=cast.alice
    )
    return invitation, f"/invitations/{token}/"


def test_owner_invites_and_gets_a_link(alice, cast, mailoutbox, actions):
    response = alice.post(NEW, {"email": "Nell@Example.org", "role": "viewer"})
    invitation = invitations(cast).get()
    assert (invitation.email, invitation.role) == (NELL, "viewer")
    link = re.search(r'value="(http[^"]+/invitations/[^"]+)"', text_of(response))
    assert link
    assert link[1].startswith("http://testserver/")
    assert link[1].removeprefix("http://testserver") in mailoutbox[0].body
    assert "no-store" in response["Cache-Control"]
    assert "invitation.created" in actions()


def test_page_shows_the_address_of_the_browser_and_the_mail_that_of_the_site(
    alice, settings, mailoutbox
):
    settings.CONDUCTOR_URL = "http://127.0.0.1:8123"
    headers = {"host": "localhost:8870"}
    page = text_of(alice.post(NEW, {"email": NELL, "role": "viewer"}, headers=headers))
    assert 'value="http://localhost:8870/invitations/' in page
    assert "http://127.0.0.1:8123/invitations/" in mailoutbox[0].body
    assert "8870" not in mailoutbox[0].body


def test_link_leads_to_the_address_that_the_operator_has_set(alice, settings):
    settings.CONDUCTOR_URL = "https://conductor.example"
    settings.IS_CONDUCTOR_URL_GIVEN = True
    page = text_of(alice.post(NEW, {"email": NELL, "role": "viewer"}))
    assert 'value="https://conductor.example/invitations/' in page


def test_link_is_not_shown_again(alice, cast):
    alice.post(NEW, {"email": NELL, "role": "viewer"})
    page = text_of(alice.get("/members/"))
    assert NELL in page
    assert "/invitations/" not in page.replace("/members/invitations/", "")


@pytest.mark.parametrize(
    ("email", "complaint"),
    [
        ("", "Write an email address."),
        ("nobody", "Enter a valid email address."),
        ("bob@example.org", "This person is in the team already."),
    ],
)
def test_bad_address_shows_an_error_beside_the_field(alice, cast, email, complaint):
    page = text_of(alice.post(NEW, {"email": email, "role": "member"}))
    assert complaint in page
    assert 'id="id_email_error"' in page
    assert not invitations(cast).exists()


def test_same_address_is_invited_once(alice, cast, invited):
    page = text_of(alice.post(NEW, {"email": NELL, "role": "member"}))
    assert "invited already" in page
    assert invitations(cast).count() == 1


def test_admin_invites_no_owner(ada, cast):
    ada.post(NEW, {"email": NELL, "role": "owner"})
    assert not invitations(cast).exists()


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_invite_nobody(request, cast, who):
    browser = request.getfixturevalue(who)
    assert browser.get(NEW).status_code == 403
    response = browser.post(NEW, {"email": NELL, "role": "viewer"})
    assert response.status_code == 403
    assert not invitations(cast).exists()


def test_new_link_kills_the_old_one(alice, invited):
    invitation, link = invited
    page = text_of(alice.post(f"/members/invitations/{invitation.id}/resend/"))
    assert "/invitations/" in page
    assert alice.get(link).status_code == 404


def test_reload_sends_no_second_link(alice, invited):
    invitation, _ = invited
    url = f"/members/invitations/{invitation.id}/resend/"
    alice.post(url, {"once": "mark"})
    digest = Invitation.objects.for_team(invitation.team_id).get().digest
    assert alice.post(url, {"once": "mark"}).status_code == 302
    assert Invitation.objects.for_team(invitation.team_id).get().digest == digest


def test_revoked_link_is_dead(alice, cast, invited):
    invitation, link = invited
    alice.post(f"/members/invitations/{invitation.id}/revoke/")
    assert alice.get(link).status_code == 404
    assert NELL not in text_of(alice.get("/members/?"))


@pytest.mark.parametrize("what", ["resend", "revoke"])
def test_another_team_does_not_find_it(mallory, cast, invited, what):
    url = f"/members/invitations/{invited[0].id}/{what}/"
    assert mallory.get(url).status_code == 404
    assert mallory.post(url).status_code == 404
    assert invitations(cast).get().revoked_at is None


def test_visitor_sees_the_offer_and_both_ways_in(client, cast, invited, settings):
    settings.SIGN_UP = "invite"
    page = text_of(client.get(invited[1]))
    assert "Join <bdi>Orchestra</bdi>" in page
    assert "/accounts/login/?next=" in page
    assert "/accounts/signup/?next=" in page


def test_visitor_who_signs_up_finds_the_address_filled_in(
    client, cast, invited, settings
):
    settings.SIGN_UP = "invite"
    client.get(invited[1])
    assert NELL in text_of(client.get("/accounts/signup/"))


def test_visitor_who_signs_in_finds_the_address_filled_in(client, cast, invited):
    client.get(invited[1])
    page = text_of(client.get("/accounts/login/"))
    assert f'value="{NELL}"' in page


def test_sign_in_of_other_visitors_is_empty(client, cast, invited):
    assert NELL not in text_of(client.get("/accounts/login/"))


def test_closed_site_offers_no_account(client, cast, invited, settings):
    settings.SIGN_UP = "closed"
    assert "/accounts/signup/" not in text_of(client.get(invited[1]))


def test_invited_person_accepts(cast, invited):
    nell = UserFactory.create(email=NELL, name="Nell")
    browser = browser_of(nell)
    assert "Accept and join" in text_of(browser.get(invited[1]))
    response = browser.post(invited[1])
    assert response["Location"] == "/"
    assert membership(cast.team, nell).role == Role.MEMBER


def test_link_works_once(cast, invited):
    browser = browser_of(UserFactory.create(email=NELL))
    browser.post(invited[1])
    assert browser.post(invited[1]).status_code == 404


def test_somebody_else_is_told_whose_it_is(stranger, cast, invited):
    page = text_of(stranger.get(invited[1]))
    assert "You are signed in as <strong>newcomer@example.org</strong>" in page
    assert "Accept and join" not in page


def test_somebody_else_cannot_accept(stranger, cast, invited):
    assert stranger.post(invited[1]).status_code == 403
    assert invitations(cast).get().accepted_at is None


def test_visitor_cannot_accept(client, cast, invited):
    client.post(invited[1])
    assert invitations(cast).get().accepted_at is None


def test_made_up_link_leads_nowhere(client, cast):
    assert client.get("/invitations/made-up/").status_code == 404
