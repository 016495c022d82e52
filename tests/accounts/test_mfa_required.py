"""A site that requires a second factor lets nobody past without one."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.web.websocket_middleware import SecondFactorSockets
from tests.accounts.second_factors import set_up_app, sign_in
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _strict(settings: Any) -> None:
    settings.REQUIRE_MFA, settings.MFA_TOTP_TOLERANCE = True, 1


@pytest.fixture
def ann(client: Client) -> User:
    """A member of a team, signed in with her password."""
    user = MembershipFactory.create().user
    sign_in(client, user)
    return user


@pytest.mark.parametrize("address", ["/", "/runs/", "/account/", "/admin/", "/x"])
def test_every_page_leads_to_the_set_up(client: Client, ann: User, address: str):
    response = client.get(address)
    assert (response.status_code, response["Location"]) == (302, reverse("mfa_index"))


def test_page_of_the_set_up_says_why(client: Client, ann: User):
    page = client.get(reverse("mfa_index")).content.decode()
    assert "requires a second factor" in page


def test_scripts_are_told_in_json(client: Client, ann: User):
    response = client.get("/", headers={"accept": "application/json"})
    assert response.status_code == 403
    assert response.json()["error"]["message"] == "set up a second factor first"


def test_session_does_not_reach_the_api_either(client: Client, ann: User):
    assert client.get("/api/v1/runs/").status_code == 403


def test_everything_opens_once_it_is_set_up(client: Client, ann: User):
    set_up_app(client)
    assert client.get("/").status_code == 200


def test_way_out_stays_open(client: Client, ann: User):
    client.post(reverse("account_logout"))
    assert "_auth_user_id" not in client.session


def test_visitors_are_asked_to_sign_in_as_ever(client: Client):
    assert client.get(reverse("account_login")).status_code == 200
    assert reverse("account_login") in client.get("/")["Location"]


def test_site_that_does_not_require_it_asks_nobody(
    client: Client, ann: User, settings: Any
):
    settings.REQUIRE_MFA = False
    assert client.get("/").status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_required", [True, False])
def test_socket_knows_nobody_without_a_second_factor(
    client: Client, ann: User, settings: Any, is_required: bool
):
    settings.REQUIRE_MFA = is_required
    seen = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["user"])

    socket = SecondFactorSockets(inner)
    async_to_sync(socket)({"type": "websocket", "user": ann}, None, None)
    assert isinstance(seen[0], AnonymousUser) is is_required
