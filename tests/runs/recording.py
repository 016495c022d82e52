"""Runs put on record as their executions do, row and steps included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import Team, User
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.runs.coordination.leases import Ownership
from apps.runs.models import Run
from apps.runs.records.projection import RunProjection
from apps.runs.types import RunOrder
from tests.audit.examples import ALICE
from tests.playground import stories


def record(
    team: Team, events: Sequence[ev.Event], user: User | None = None, at_once: int = 2
) -> Run:
    """Record a run by its events, some with each commit, and return its row."""
    run_id = new_id()
    actor = Actor("user", str(user.id), user.name) if user else ALICE
    order = RunOrder(
        team.id,
        actor,
        "Why?",
        "conductor-ultra",
        "api",
        user_id=user.id if user else None,
    )
    now = datetime.now(UTC)
    projection = RunProjection(run_id, order, now, Ownership(None, 0))
    for start in range(0, len(events), at_once):
        some = events[start : start + at_once]
        records = [encode(event) for event in some]
        drafts = tuple(
            EntryDraft(r.action, "run", run_id, actor, r.data, r.bodies)
            for r in records
        )
        with transaction.atomic():
            entries_append(batch=Batch(team.id, drafts, projection.writes(some)))
    return Run.objects.for_team(team.id).get(id=run_id)


def told(story: Callable[[], Sequence[Any]], prompt: str = "Why?") -> list[ev.Event]:
    """Return the events of a story, with the prompt that `record` orders."""
    events = [entry.event for entry in story()]
    events[0] = stories.created(prompt)
    return events
