"""A site that sends no email says so wherever a page would announce one."""

from __future__ import annotations

import html
import re

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from apps.accounts.selectors import mail_is_set_up
from apps.accounts.services import invitation_create
from tests.factories import ACTOR, UserFactory

PRINTED = "django.core.mail.backends.console.EmailBackend"
SMTP = "django.core.mail.backends.smtp.EmailBackend"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
SENDS_NONE = "This site sends no email"

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    assert response.status_code == 200, response.status_code
    return html.unescape(response.content.decode())


@pytest.fixture
def no_mail(settings):
    settings.EMAIL_BACKEND = PRINTED


def owner(cast):
    client = Client()
    client.force_login(cast.alice)
    return client


@pytest.mark.parametrize(
    ("backend", "host", "is_set_up"),
    [
        (SMTP, "mail.example", True),
        (SMTP, "", False),
        (PRINTED, "mail.example", False),
        ("django.core.mail.backends.dummy.EmailBackend", "mail.example", False),
        ("django.core.mail.backends.filebased.EmailBackend", "mail.example", False),
        ("example.mailer.EmailBackend", "", True),
    ],
)
def test_mail_is_set_up_if_something_sends_it(settings, backend, host, is_set_up):
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = backend, host
    assert mail_is_set_up() is is_set_up


def test_an_owner_who_invites_is_asked_to_send_the_link(cast, no_mail):
    alice = owner(cast)
    assert "We email them" not in text_of(alice.get("/members/invite/"))
    form = {"email": "nell@example.org", "role": "viewer"}
    page = text_of(alice.post("/members/invite/", form))
    assert "Email is not set up. Send this link yourself." in page
    assert "on its way" not in page
    assert "/invitations/" in page


def test_an_owner_who_renews_an_invitation_is_asked_to_send_the_link(cast, no_mail):
    invitation, _ = invitation_create(
        team=cast.team, email="nell@example.org", role="member", actor=ACTOR
    )
    alice, url = owner(cast), f"/members/invitations/{invitation.id}/resend/"
    assert "An email with a new link is sent" not in text_of(alice.get(url))
    assert "Email is not set up. Send this link yourself." in text_of(alice.post(url))


def test_an_owner_of_a_site_with_mail_reads_that_it_is_sent(cast):
    form = {"email": "nell@example.org", "role": "viewer"}
    page = text_of(owner(cast).post("/members/invite/", form))
    assert "An email with a link is on its way." in page
    assert "Email is not set up" not in page


def test_password_reset_promises_no_mail_and_tells_addresses_apart_nowhere(no_mail):
    UserFactory.create(email="ann@example.org")
    url = reverse("account_reset_password")
    assert SENDS_NONE in text_of(Client().get(url))
    pages = [
        text_of(Client().post(url, {"email": email}, follow=True))
        for email in ("ann@example.org", "nobody@example.org")
    ]
    assert TOKEN.sub("", pages[0]) == TOKEN.sub("", pages[1])
    assert SENDS_NONE in pages[0]
    assert "on its way" not in pages[0]


def test_password_reset_with_mail_reads_as_before(client):
    url = reverse("account_reset_password")
    assert SENDS_NONE not in text_of(client.get(url))
    page = text_of(client.post(url, {"email": "ann@example.org"}, follow=True))
    assert "a link to choose a new password is on its way" in page


def test_a_new_account_that_waits_for_a_mail_is_told_that_none_comes(no_mail, settings):
    settings.EMAIL_VERIFICATION = settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    page = text_of(Client().get(reverse("account_email_verification_sent")))
    assert SENDS_NONE in page
    assert "on its way" not in page


def test_a_change_of_address_says_that_no_link_can_be_sent(client, no_mail):
    client.force_login(UserFactory.create())
    page = text_of(client.get(reverse("account_email")))
    assert SENDS_NONE in page
    assert "the link we send" not in page
    assert mail.outbox == []
