"""What signed-in people see is kept by no cache but their own browser's."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.conftest import Cast


@pytest.fixture
def alice(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.alice)
    return client


@pytest.mark.parametrize("path", ["/", "/runs/", "/members/", "/keys/", "/account/"])
def test_page_of_a_signed_in_person_is_private(alice, path):
    assert alice.get(path)["Cache-Control"] == "private, no-cache"


def test_page_with_the_secret_of_a_second_factor_is_not_stored(alice):
    response = alice.get("/accounts/2fa/totp/activate/")
    assert "no-store" in response["Cache-Control"]


def test_page_that_says_more_itself_is_left_alone(alice):
    assert "no-store" in alice.get("/keys/new/")["Cache-Control"]
