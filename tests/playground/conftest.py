"""A team with its people and recorded runs, and clients signed in as them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from apps.accounts.models import Role, Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.ids import new_id
from apps.engine.codec import encode
from apps.runs.models import Run, RunState
from apps.runs.types import RecordedEvent
from tests.factories import MembershipFactory, TeamFactory
from tests.playground import stories

ALICE = Actor("user", "1", "Alice")


@pytest.fixture
def team(db: None) -> Team:
    return TeamFactory.create(name="Platform")


def signed_in(team: Team, role: str) -> Client:
    """Return a browser of a new member of `team`."""
    client = Client()
    client.force_login(MembershipFactory.create(team=team, role=role).user)
    return client


@pytest.fixture
def alice(team: Team) -> Client:
    """An owner."""
    return signed_in(team, Role.OWNER)


@pytest.fixture
def bob(team: Team) -> Client:
    """A member."""
    return signed_in(team, Role.MEMBER)


@pytest.fixture
def vera(team: Team) -> Client:
    """A viewer."""
    return signed_in(team, Role.VIEWER)


@pytest.fixture
def mallory(db: None) -> Client:
    """A member of another team."""
    return signed_in(TeamFactory.create(), Role.OWNER)


def record_run(team: Team, recorded: Sequence[RecordedEvent], **fields: Any) -> Run:
    """Put a run and its entries on record, as the executor would."""
    run_id = new_id()
    drafts = []
    for entry in recorded:
        record = encode(entry.event)
        drafts.append(
            EntryDraft(record.action, "run", run_id, ALICE, record.data, record.bodies)
        )
    with transaction.atomic():
        entries_append(batch=Batch(team.id, tuple(drafts)))
    values: dict[str, Any] = {
        "state": RunState.COMPLETED,
        "source": "playground",
        "model": "conductor-ultra",
        "pool_name": "default",
        "pool_version": 3,
        "title": stories.PROMPT,
        "actor_type": "user",
        "actor_id": "1",
        "actor_name": "Alice",
        "created_at": stories.START,
        "plan": [{"worker": "gpt-5", "access": []}],
    }
    return Run.objects.create(id=run_id, team=team, **{**values, **fields})


@pytest.fixture
def run(team: Team) -> Run:
    """A finished run of the team."""
    return record_run(team, stories.finished())
