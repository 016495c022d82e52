"""A team's ledger with changes of people, keys and pools, and steps of runs."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client

from apps.accounts.services import api_key_revoke, member_change_role
from apps.audit.types import Actor
from tests.audit.examples import append, draft
from tests.conftest import Cast
from tests.console.conftest import browser_of
from tests.factories import MembershipFactory, UserFactory

RUN = uuid.UUID("00000000-0000-7000-8000-000000000077")


@pytest.fixture
def rita(cast: Cast) -> Client:
    """A reviewer."""
    user = UserFactory.create(email="rita@example.org", name="Rita")
    MembershipFactory.create(team=cast.team, user=user, role="reviewer")
    return browser_of(user)


@pytest.fixture
def by_alice(cast: Cast) -> Actor:
    return Actor("user", str(cast.alice.id), "Alice")


@pytest.fixture
def changes(cast: Cast, by_alice: Actor) -> Any:
    """Bob becomes an admin, a key is revoked, and a run goes on meanwhile."""
    append(cast.team.id, draft("run.created", subject_id=RUN))
    member_change_role(team=cast.team, user=cast.bob, role="admin", actor=by_alice)
    append(cast.team.id, *[draft("step.completed", subject_id=RUN)] * 5)
    api_key_revoke(api_key=cast.key.row, actor=by_alice)
    return cast
