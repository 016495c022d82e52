"""Cancel requests for runs that execute in another process.

A request is a row; the process that executes the run looks for rows of its runs every
second. All functions block; not for the event loop.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable
from typing import NamedTuple

from apps.audit.types import Actor
from apps.runs.models import Run, RunState, RunStop

LOOK_S = 1.0
"""How often a process looks for cancel requests of its runs."""
PATIENCE_S = 8.0
"""How long a request to cancel waits for the end of the run."""
POLL_S = 0.1


class CancelRequest(NamedTuple):
    """A request to cancel a run."""

    run_id: uuid.UUID
    reason: str
    actor: Actor


def cancel_request(run: Run, reason: str, actor: Actor) -> None:
    """Request that a run be cancelled. Idempotent: the first request stands."""
    values = {
        "team_id": run.team_id,
        "reason": reason,
        "actor_type": actor.type,
        "actor_id": actor.id,
        "actor_name": actor.display,
        "context": dict(actor.context),
    }
    RunStop.objects.across_teams().get_or_create(run_id=run.id, defaults=values)


def cancels_await(
    team_id: uuid.UUID, run_ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, str]:
    """Wait for runs of a team to end and return their states.

    Those that have not ended in time are running.
    """
    rows = Run.objects.for_team(team_id).filter(id__in=run_ids)
    give_up_at = time.monotonic() + PATIENCE_S
    while True:
        states = dict(rows.values_list("id", "state"))
        if RunState.RUNNING not in states.values() or time.monotonic() > give_up_at:
            return states
        time.sleep(POLL_S)


def cancel_requests_take(run_ids: Iterable[uuid.UUID]) -> list[CancelRequest]:
    """Return the cancel requests of these runs, and delete them."""
    rows = RunStop.objects.across_teams().filter(run_id__in=list(run_ids))
    found = [
        CancelRequest(
            row.run_id,
            row.reason,
            Actor(
                row.actor_type, row.actor_id, row.actor_name, context=row.context or {}
            ),
        )
        for row in rows
    ]
    if found:
        rows.filter(run_id__in=[stop.run_id for stop in found]).delete()
    return found
