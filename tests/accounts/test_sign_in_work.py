"""Promise T7: a sign-in that fails costs the same work, whoever has the address.

A stop watch would tell little on a busy machine. What takes the time of a sign-in is
the hashing of the password, which is slow on purpose; so its runs are counted.
"""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
UNKNOWN = "nobody@example.org"


class CountingHasher(MD5PasswordHasher):
    """Counts how often a password is hashed."""

    runs = 0

    def encode(self, *args: Any, **kwargs: Any) -> str:
        type(self).runs += 1
        return super().encode(*args, **kwargs)


@pytest.fixture(autouse=True)
def _counted(settings: Any) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]


def work_of(email: str) -> int:
    """Return how often a wrong password for an address is hashed."""
    CountingHasher.runs = 0
    sent = {"login": email, "password": "a wrong password"}
    answer = Client().post(reverse("account_login"), sent)
    assert answer.status_code == 200
    assert "_auth_user_id" not in answer.wsgi_request.session
    return CountingHasher.runs


def person(**address: Any) -> User:
    user = UserFactory.create(email="ann@example.org")
    if address:
        EmailAddress.objects.create(user=user, email=user.email, **address)
    return user


@pytest.mark.parametrize(
    "address",
    [{}, {"verified": True, "primary": True}, {"verified": False, "primary": True}],
    ids=["never signed in", "confirmed", "not confirmed"],
)
def test_wrong_password_takes_as_much_work_as_an_unknown_address(address: Any):
    user = person(**address)
    assert work_of(user.email) == work_of(UNKNOWN)
    assert work_of(UNKNOWN) == 1


def test_account_that_is_switched_off_takes_as_much():
    user = person(verified=True, primary=True)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert work_of(user.email) == work_of(UNKNOWN)


def test_account_without_a_password_takes_as_much():
    """As of people who sign in with the site's OpenID provider alone."""
    user = person(verified=True, primary=True)
    user.set_unusable_password()
    user.save()
    assert work_of(user.email) == work_of(UNKNOWN)


def test_address_that_somebody_else_wants_takes_as_much():
    """One account signs in with it; another asked for it and cannot confirm it."""
    user = person(verified=True, primary=True)
    other = UserFactory.create(email="ben@example.org")
    EmailAddress.objects.create(user=other, email=user.email, verified=False)
    assert work_of(user.email) == work_of(UNKNOWN)
