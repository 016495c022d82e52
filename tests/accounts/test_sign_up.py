"""Making an account: who may, with which address, and where it leads."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Role, User
from apps.accounts.services import (
    invitation_create,
    invitation_resend,
    invitation_revoke,
)
from tests.factories import ACTOR, PASSWORD, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db


def values(**changes: str) -> dict[str, str]:
    person = {"name": "New Person", "email": "new@example.org", "password1": PASSWORD}
    return {**person, **changes}


def sign_up(client: Client, **changes: str):
    return client.post(reverse("account_signup"), values(**changes))


@pytest.fixture
def invited(client: Client):
    """A visitor who has opened the link sent to new@example.org."""
    invitation, token = invitation_create(
        team=TeamFactory.create(name="Orchestra"),
        email="new@example.org",
        role=Role.MEMBER,
        actor=ACTOR,
    )
    client.get(f"/invitations/{token}/")
    return invitation, token


def test_open_site_takes_anybody(client: Client, settings: Any):
    settings.SIGN_UP = "open"
    response = sign_up(client, email="New@Example.org")
    user = User.objects.get()
    assert (response.status_code, response["Location"]) == (302, "/home/")
    assert (user.email, user.name) == ("new@example.org", "New Person")
    assert client.session["_auth_user_id"] == str(user.id)


@pytest.mark.parametrize("mode", ["invite", "closed"])
def test_uninvited_visitor_is_told_how_to_get_in(
    client: Client, settings: Any, mode: str
):
    settings.SIGN_UP = mode
    assert "by invitation" in client.get(reverse("account_signup")).content.decode()
    assert "by invitation" in sign_up(client).content.decode()
    assert not User.objects.exists()


def test_invited_visitor_signs_up_and_returns_to_the_invitation(
    client: Client, invited: Any
):
    _, token = invited
    page = client.get(reverse("account_signup")).content.decode()
    assert "Orchestra" in page
    response = sign_up(client)
    assert response["Location"] == f"/invitations/{token}/"
    assert User.objects.get().email == "new@example.org"


@pytest.mark.parametrize("mode", ["invite", "open"])
def test_invitation_fixes_the_address(
    client: Client, invited: Any, settings: Any, mode: str
):
    settings.SIGN_UP = mode
    sign_up(client, email="somebody.else@example.org")
    assert User.objects.get().email == "new@example.org"


def test_revoked_invitation_lets_nobody_in(client: Client, invited: Any):
    invitation_revoke(invitation=invited[0], actor=ACTOR)
    sign_up(client)
    assert not User.objects.exists()


def test_closed_site_takes_not_even_the_invited(
    client: Client, invited: Any, settings: Any
):
    settings.SIGN_UP = "closed"
    sign_up(client)
    assert not User.objects.exists()


def test_address_counts_as_verified_for_who_comes_by_the_mail(
    client: Client,
    invited: Any,
    settings: Any,
    mailoutbox: list[Any],
    django_capture_on_commit_callbacks: Any,
):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    with django_capture_on_commit_callbacks(execute=True):
        invitation_resend(invitation=invited[0], actor=ACTOR)
    link = re.search(r"/invitations/\S+", str(mailoutbox[-1].body))
    assert link is not None
    client.get(link[0])
    mailoutbox.clear()
    sign_up(client)
    assert EmailAddress.objects.get().verified
    assert "_auth_user_id" in client.session
    assert mailoutbox == []


@pytest.mark.parametrize("proof", ["", "?proof=guessed"])
def test_address_must_be_confirmed_by_who_comes_by_the_shown_link(
    client: Client, invited: Any, settings: Any, proof: str
):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    client.get(f"/invitations/{invited[1]}/{proof}")
    sign_up(client)
    assert not EmailAddress.objects.get().verified
    assert "_auth_user_id" not in client.session


def test_address_is_confirmed_by_a_link_if_the_site_says_so(
    client: Client, settings: Any
):
    settings.SIGN_UP, settings.ACCOUNT_EMAIL_VERIFICATION = "open", "mandatory"
    response = sign_up(client)
    assert "_auth_user_id" not in client.session
    assert "Check your email" in client.get(response["Location"]).content.decode()
    link = re.search(r"http://\S+/confirm-email/\S+", str(mail.outbox[0].body))
    assert link is not None
    page = client.get(link[0]).content.decode()
    assert "new@example.org" in page
    client.post(link[0])
    assert EmailAddress.objects.get().verified


def test_used_confirmation_link_says_so(client: Client):
    page = client.get(reverse("account_confirm_email", args=["nonsense"]))
    assert "no longer works" in page.content.decode()


def test_account_made_by_the_operator_needs_no_confirmation(
    client: Client, settings: Any
):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    user = UserFactory.create(email="ann@example.org")
    client.post(
        reverse("account_login"), {"login": "ann@example.org", "password": PASSWORD}
    )
    assert client.session["_auth_user_id"] == str(user.id)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"password1": "short"}, "too short"),
        ({"password1": "password123"}, "too common"),
        ({"email": "nowhere"}, "valid email"),
        ({"name": ""}, "required"),
        ({"email": "ann@example.org"}, "already registered"),
    ],
)
def test_bad_input_is_named_on_the_page(
    client: Client, settings: Any, change: dict[str, str], complaint: str
):
    settings.SIGN_UP = "open"
    UserFactory.create(email="ann@example.org")
    assert complaint in sign_up(client, **change).content.decode()
    assert User.objects.count() == 1


def test_nobody_signs_up_as_staff(client: Client, settings: Any):
    settings.SIGN_UP = "open"
    sign_up(client, is_staff="on", is_superuser="on")
    user = User.objects.get()
    assert not user.is_staff
    assert not user.is_superuser


@pytest.mark.parametrize(("mode", "is_shown"), [("open", True), ("invite", False)])
def test_sign_in_page_offers_an_account_only_where_one_can_be_had(
    client: Client, settings: Any, mode: str, is_shown: bool
):
    settings.SIGN_UP = mode
    page = client.get(reverse("account_login")).content.decode()
    assert ("No account yet?" in page) is is_shown
