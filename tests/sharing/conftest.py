"""A team that shares, and what it shares."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from apps.accounts.principal import user_actor
from apps.audit.models import Entry
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.conversations.models import Conversation
from apps.conversations.services import conversation_of_run
from apps.core.ids import new_id
from apps.engine.codec import encode
from apps.runs.models import Run, RunState
from apps.sharing.services import sharing_set
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.playground import stories
from tests.rest.conftest import Caller, member

MadeRun = Callable[..., uuid.UUID]


def record_run(cast: Cast, **texts: str) -> uuid.UUID:
    """Put a run on record that has ended; `texts` replace bodies by their names."""
    run_id = new_id()
    drafts = []
    for recorded in stories.finished():
        record = encode(recorded.event)
        bodies = {name: texts.get(name, text) for name, text in record.bodies.items()}
        drafts.append(
            EntryDraft(record.action, "run", run_id, ACTOR, record.data, bodies)
        )
    with transaction.atomic():
        entries_append(batch=Batch(cast.team.id, tuple(drafts)))
    Run.objects.create(
        id=run_id,
        team=cast.team,
        state=RunState.COMPLETED,
        source="playground",
        model="conductor-ultra",
        pool_name="house",
        pool_version=1,
        title=texts.get("prompt", "A question")[:120],
        actor_type="user",
        actor_id=str(cast.alice.id),
        actor_name="Alice",
        user=cast.alice,
        created_at=timezone.now(),
        cost_micros=12_500,
        plan=[],
    )
    return run_id


@pytest.fixture
def sharing(cast: Cast) -> Cast:
    """The cast, whose team allows share links."""
    sharing_set(team=cast.team, values={"is_on": True}, actor=ACTOR)
    return cast


@pytest.fixture
def run_id(sharing: Cast) -> uuid.UUID:
    """A run of the team that has ended."""
    return record_run(sharing)


@pytest.fixture
def bob(sharing: Cast) -> Caller:
    """A member, who makes links."""
    return member(sharing.bob)


@pytest.fixture
def alice(sharing: Cast) -> Caller:
    """An owner."""
    return member(sharing.alice)


def shared(caller: Caller, run_id: uuid.UUID, **values: Any) -> dict[str, Any]:
    """Share a run for a day and return the link."""
    body = {"hours": 24, **values}
    answer = caller.post(f"runs/{run_id}/share-links/", body)
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()
    return made


def path_of(link: dict[str, Any]) -> str:
    found = re.search(r"/shared/[^/]+/$", link["url"])
    assert found
    return found[0]


def opened(link: dict[str, Any], client: Client | None = None) -> Any:
    """Open a link as a visitor without an account."""
    return (client or Client()).get(path_of(link))


def works(link: dict[str, Any]) -> bool:
    status: int = opened(link).status_code
    assert status in {200, 404}
    return status == 200


@pytest.fixture
def chat(sharing: Cast, run_id: uuid.UUID) -> Conversation:
    """A conversation of Bob's with one turn."""
    run = Run.objects.for_team(sharing.team.id).get(id=run_id)
    return conversation_of_run(run, user_actor(sharing.bob, {}), {"name": "Private"})


def shared_chat(caller: Any, chat: Any, **values: Any) -> dict[str, Any]:
    answer = caller.post(
        f"conversations/{chat.id}/share-links/", {"hours": 24, **values}
    )
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()
    return made


def entries(cast: Cast, action: str) -> list[dict[str, Any]]:
    rows = Entry.objects.for_team(cast.team.id).order_by("seq")
    found = [orjson.loads(bytes(row.canonical)) for row in rows]
    return [each for each in found if each["action"] == action]
