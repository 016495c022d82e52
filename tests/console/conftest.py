"""Browsers of the cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Role, User
from apps.audit.selectors import entry_list
from tests.conftest import Cast
from tests.factories import MembershipFactory, UserFactory


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def alice(cast: Cast) -> Client:
    """An owner."""
    return browser_of(cast.alice)


@pytest.fixture
def bob(cast: Cast) -> Client:
    """A member."""
    return browser_of(cast.bob)


@pytest.fixture
def vera(cast: Cast) -> Client:
    """A viewer."""
    return browser_of(cast.vera)


@pytest.fixture
def mallory(cast: Cast) -> Client:
    """The owner of another team."""
    return browser_of(cast.mallory)


@pytest.fixture
def ada(cast: Cast) -> Client:
    """An admin."""
    user = UserFactory.create(email="ada@example.org", name="Ada")
    MembershipFactory.create(team=cast.team, user=user, role=Role.ADMIN)
    return browser_of(user)


@pytest.fixture
def stranger(db: None) -> Client:
    """Somebody who is in no team."""
    return browser_of(UserFactory.create(email="newcomer@example.org", name="Nell"))


@pytest.fixture
def actions(cast: Cast) -> Callable[[], list[str]]:
    """Return the actions on record in the team's ledger."""
    return lambda: [entry.action for entry in entry_list(cast.team.id)]


def text_of(response: Any) -> str:
    return str(response.content.decode())
