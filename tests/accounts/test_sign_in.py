"""Signing in and out, and the doors that stay shut."""

from __future__ import annotations

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db

PAGES = [
    "account_login",
    "account_signup",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key_done",
    "account_inactive",
]


def sign_in(client: Client, email: str, password: str = PASSWORD):
    values = {"login": email, "password": password}
    return client.post(reverse("account_login"), values)


@pytest.mark.parametrize("name", PAGES)
def test_page_has_one_heading_and_no_inline_code(client: Client, name: str):
    page = client.get(reverse(name)).content.decode()
    assert page.count("<h1") == 1
    assert " style=" not in page
    assert "<script>" not in page


@pytest.mark.parametrize("email", ["ann@example.org", "Ann@Example.ORG"])
def test_person_signs_in_by_address_in_any_case(client: Client, email: str):
    user = UserFactory.create(email="ann@example.org")
    assert sign_in(client, email).status_code == 302
    assert client.session["_auth_user_id"] == str(user.id)


def test_wrong_password_is_refused_on_the_page(client: Client):
    UserFactory.create(email="ann@example.org")
    response = sign_in(client, "ann@example.org", "wrong")
    assert 'class="errors"' in response.content.decode()
    assert "_auth_user_id" not in client.session


def test_unknown_address_reads_like_a_wrong_password(client: Client):
    UserFactory.create(email="ann@example.org")
    errors = [
        sign_in(client, email, "wrong").context["form"].non_field_errors()
        for email in ("ann@example.org", "nobody@example.org")
    ]
    assert errors[0] == errors[1]


def test_deactivated_person_cannot_sign_in(client: Client):
    UserFactory.create(email="ann@example.org", is_active=False)
    sign_in(client, "ann@example.org")
    assert "_auth_user_id" not in client.session


def test_nobody_signs_up_on_their_own(client: Client):
    values = {"email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD}
    response = client.post(reverse("account_signup"), values)
    assert "by invitation" in response.content.decode()
    assert not User.objects.exists()


def test_sign_out_asks_first(client: Client):
    client.force_login(UserFactory.create())
    assert (
        "Do you want to sign out?" in client.get("/accounts/logout/").content.decode()
    )
    client.post(reverse("account_logout"))
    assert "_auth_user_id" not in client.session


def test_password_is_reset_by_mail(client: Client):
    user = UserFactory.create(email="ann@example.org")
    client.post(reverse("account_reset_password"), {"email": "ann@example.org"})
    link = next(
        word for word in mail.outbox[0].body.split() if "/password/reset/key/" in word
    )
    form = client.get(link, follow=True)
    new = "another long pass phrase"
    client.post(form.request["PATH_INFO"], {"password1": new, "password2": new})
    user.refresh_from_db()
    assert user.check_password(new)


@pytest.mark.parametrize("host", ["testserver:4711", "localhost:6379"])
def test_reset_link_leads_to_the_site_whatever_the_request_names(
    client: Client, settings, host
):
    """T15: the mail would lead to a port of the visitor's choice."""
    settings.CONDUCTOR_URL = "https://conductor.example"
    settings.ALLOWED_HOSTS = ["testserver", "localhost"]
    UserFactory.create(email="ann@example.org")
    client.post(
        reverse("account_reset_password"),
        {"email": "ann@example.org"},
        headers={"host": host},
    )
    body = mail.outbox[0].body
    link = next(word for word in body.split() if "/password/reset/key/" in word)
    assert link.startswith("https://conductor.example/accounts/password/reset/key/")


def test_used_reset_link_says_so(client: Client):
    page = client.get("/accounts/password/reset/key/1-abc-def/").content.decode()
    assert "no longer works" in page


def test_password_is_changed_on_its_page(client: Client):
    user = UserFactory.create()
    client.force_login(user)
    address = reverse("account_change_password")
    assert "Change your password" in client.get(address).content.decode()
    new = "another long pass phrase"
    values = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    client.post(address, values)
    user.refresh_from_db()
    assert user.check_password(new)
