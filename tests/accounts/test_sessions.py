"""Where somebody is signed in: seeing it, ending it, and what ends it by itself."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.web.templatetags.sign_in import browser_name
from tests.accounts.second_factors import sign_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
NEW = "another long pass phrase"


@pytest.fixture
def ann() -> User:
    return UserFactory.create(email="ann@example.org")


@pytest.fixture
def elsewhere(ann: User) -> Client:
    """ann, signed in from another browser."""
    browser = Client(headers={"user-agent": "Other Browser"})
    sign_in(browser, ann)
    return browser


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_sessions_are_listed_with_browser_and_address(
    client: Client, ann: User, elsewhere: Client
):
    sign_in(client, ann)
    page = client.get(reverse("usersessions_list")).content.decode()
    assert "Other Browser" in page
    assert "127.0.0.1" in page
    assert page.count("This browser") == 1


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/156.0.0.0 Safari/537.36",
            "Chrome on Linux",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) "
            "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/604.1",
            "Safari on iOS",
        ),
        ("curl/8.7.1", "curl/8.7.1"),
        ("", "Unknown browser"),
    ],
)
def test_browsers_are_called_what_people_call_them(user_agent: str, words: str):
    assert browser_name(user_agent) == words


def test_other_sessions_are_signed_out(client: Client, ann: User, elsewhere: Client):
    sign_in(client, ann)
    client.post(reverse("usersessions_list"))
    assert is_in(client)
    assert not is_in(elsewhere)


def test_nobody_ends_the_sessions_of_others(client: Client, elsewhere: Client):
    sign_in(client, UserFactory.create())
    client.post(reverse("usersessions_list"))
    assert is_in(elsewhere)


def test_changed_password_ends_other_sessions(
    client: Client, ann: User, elsewhere: Client
):
    sign_in(client, ann)
    values = {
        "oldpassword": "correct horse battery staple",
        "password1": NEW,
        "password2": NEW,
    }
    response = client.post(reverse("account_change_password"), values)
    assert response["Location"] == reverse("account")
    assert is_in(client)
    assert not is_in(elsewhere)


def test_reset_password_ends_all_sessions(
    client: Client, ann: User, elsewhere: Client, mailoutbox: Any
):
    client.post(reverse("account_reset_password"), {"email": ann.email})
    words = mailoutbox[0].body.split()
    link = next(word for word in words if "/password/reset/key/" in word)
    form = client.get(link, follow=True)
    client.post(form.request["PATH_INFO"], {"password1": NEW, "password2": NEW})
    assert not is_in(elsewhere)


def test_switched_off_account_is_out_at_once(ann: User, elsewhere: Client):
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert not is_in(elsewhere)


def test_guessing_a_password_is_stopped(client: Client, ann: User):
    address = reverse("account_login")
    for _ in range(5):
        client.post(address, {"login": ann.email, "password": "wrong"})
    page = sign_in(client, ann).content.decode()
    assert "Too many failed login attempts" in page
    assert "_auth_user_id" not in client.session


def test_guessing_passwords_of_many_is_stopped(client: Client):
    address = reverse("account_login")
    for number in range(10):
        values = {"login": f"person{number}@x.example", "password": "wrong"}
        client.post(address, values)
    ann = UserFactory.create()
    assert "Too many failed" in sign_in(client, ann).content.decode()


def test_flood_of_sign_ins_is_answered_with_a_page(client: Client, settings: Any):
    settings.ACCOUNT_RATE_LIMITS = {"login": "2/m/ip"}
    values = {"login": "ann@example.org", "password": "wrong"}
    answers = [client.post(reverse("account_login"), values) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert "Too many attempts" in answers[-1].content.decode()
