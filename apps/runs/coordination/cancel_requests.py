"""Wishes to stop runs that execute in another process.

Whoever wants a run stopped leaves a row; the process that executes it looks for such
rows every second. All functions block; not for the event loop.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import NamedTuple

from apps.audit.types import Actor
from apps.runs.models import Run, RunState, RunStop

LOOK_S = 1.0
"""How often a process looks for wishes about its runs."""
PATIENCE_S = 8.0
"""How long somebody waits for their wish to come true."""
POLL_S = 0.1


class CancelRequest(NamedTuple):
    """A wish to stop a run."""

    run_id: uuid.UUID
    reason: str
    actor: Actor


def stop_ask(run: Run, reason: str, actor: Actor) -> None:
    """Leave the wish that a run stops; who asks second changes nothing."""
    values = {
        "team_id": run.team_id,
        "reason": reason,
        "actor_type": actor.type,
        "actor_id": actor.id,
        "actor_name": actor.display,
        "context": dict(actor.context),
    }
    RunStop.objects.across_teams().get_or_create(run_id=run.id, defaults=values)


def stop_await(run: Run) -> bool:
    """Wait for a run to end; True if it was cancelled."""
    give_up_at = time.monotonic() + PATIENCE_S
    while True:
        state = (
            Run.objects.across_teams().values_list("state", flat=True).get(id=run.id)
        )
        if state != RunState.RUNNING or time.monotonic() > give_up_at:
            return bool(state == RunState.CANCELLED)
        time.sleep(POLL_S)


def stops_take(run_ids: Iterable[uuid.UUID]) -> list[CancelRequest]:
    """Return the wishes about these runs, and forget them."""
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
