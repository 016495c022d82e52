"""Changing the address one signs in with, where addresses are never confirmed.

Promise T14: whatever is asked for, nobody is left without an address.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.accounts.second_factors import prove, sign_in
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _open_without_confirmation(settings: Any) -> None:
    settings.SIGN_UP, settings.ACCOUNT_EMAIL_VERIFICATION = "open", "none"


def newcomer(email: str) -> Client:
    """Return the browser of somebody who has just made an account."""
    browser = Client()
    values = {"name": "New Person", "email": email, "password1": PASSWORD}
    assert browser.post(reverse("account_signup"), values).status_code == 302
    prove(browser)
    return browser


def move(browser: Client, email: str) -> None:
    """Ask for another address."""
    sent = {"action_add": "", "email": email}
    assert browser.post(reverse("account_email"), sent).status_code == 302


def open_link(browser: Client) -> Any:
    """Open the link that was mailed last, and confirm."""
    site = re.escape(settings.CONDUCTOR_URL)
    (link,) = re.findall(rf"{site}(/\S+)", str(mail.outbox[-1].body))[:1]
    return browser.post(link, follow=True)


def addresses() -> set[str]:
    return set(User.objects.values_list("email", flat=True))


def can_sign_in(email: str) -> bool:
    browser = Client()
    sign_in(browser, User(email=email))
    return "_auth_user_id" in browser.session


def test_old_address_stays_until_the_new_one_is_confirmed():
    browser = newcomer("ann@example.org")
    move(browser, "anne@example.org")
    assert addresses() == {"ann@example.org"}
    assert can_sign_in("ann@example.org")
    page = browser.get(reverse("account_email")).content.decode()
    assert "Waiting for <strong>anne@example.org</strong>" in page


def test_confirmed_address_takes_the_place_of_the_old_one():
    browser = newcomer("ann@example.org")
    move(browser, "anne@example.org")
    open_link(browser)
    assert addresses() == {"anne@example.org"}
    assert can_sign_in("anne@example.org")
    assert not can_sign_in("ann@example.org")


def test_change_of_mind_keeps_the_old_address():
    browser = newcomer("ann@example.org")
    for wanted in ("anne@example.org", "anna@example.org"):
        move(browser, wanted)
    kept = EmailAddress.objects.values_list("email", flat=True)
    assert set(kept) == {"ann@example.org", "anna@example.org"}
    sent = {"action_remove": "", "email": "anna@example.org"}
    browser.post(reverse("account_email"), sent)
    assert addresses() == {"ann@example.org"}
    assert can_sign_in("ann@example.org")


def test_next_person_who_changes_their_address_meets_no_fault():
    for name in ("ann", "ben"):
        move(newcomer(f"{name}@example.org"), f"{name}.new@example.org")
    assert addresses() == {"ann@example.org", "ben@example.org"}


def test_address_of_another_account_is_not_taken_even_with_its_link():
    """Whoever signs up with an address that they do not own cannot be moved onto."""
    UserFactory.create(email="ben@example.org")
    browser = newcomer("ann@example.org")
    move(browser, "ben@example.org")
    assert open_link(browser).status_code == 200
    assert addresses() == {"ann@example.org", "ben@example.org"}
    assert can_sign_in("ann@example.org")
