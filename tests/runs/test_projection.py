"""The rows that a run's events make, whatever order a rival's end comes in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.runs.coordination.leases import Ownership
from apps.runs.models import Run, Step
from apps.runs.records.projection import RunProjection
from apps.runs.types import RunOrder
from tests.factories import ACTOR, TeamFactory
from tests.playground import stories

pytestmark = pytest.mark.django_db


def record(team: Team, batches: Sequence[Sequence[ev.Event]], resumed_at: int) -> Run:
    """Record events batch by batch; another process goes on before `resumed_at`."""
    run_id, now = new_id(), datetime.now(UTC)
    order = RunOrder(team.id, ACTOR, "Why?", "conductor-ultra", "api")
    projection = RunProjection(run_id, order, now, Ownership(None, 0))
    done: list[ev.Event] = []
    for number, events in enumerate(batches):
        if number == resumed_at:
            projection = RunProjection(run_id, order, now, Ownership(None, 0))
            projection.replay(done)
        records = [encode(event) for event in events]
        drafts = [
            EntryDraft(r.action, "run", run_id, ACTOR, r.data, r.bodies)
            for r in records
        ]
        entries_append(batch=Batch(team.id, tuple(drafts), projection.writes(events)))
        done += events
    return Run.objects.for_team(team.id).get(id=run_id)


@pytest.mark.parametrize("resumed_at", [1, 2, 3])
def test_rival_that_ends_after_the_answer_is_in_the_steps_row(resumed_at: int):
    team = TeamFactory.create()
    told = [entry.event for entry in stories.raced()]
    opening, (closed, won, end) = told[:4], told[4:]
    run = record(team, [[*opening, won], [closed], [end]], resumed_at)
    step = Step.objects.for_team(team.id).get(run=run)
    assert (step.worker, step.state, step.attempts) == ("quick", "completed", 2)
    assert (step.prompt_tokens, step.cost_micros) == (620, 5_400)
    assert step.latency_ms == 3_000 + 210
    assert (run.state, run.steps_total, run.steps_done) == ("completed", 1, 1)
