"""Notes in the pool which models refuse the beginning of an answer, after the fact.

Providers have no word for such a refusal, so it is believed once the same model takes
the same request without the beginning. The note is written in a thread of its own: no
run waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from channels.db import database_sync_to_async
from django.db import DatabaseError

from apps.core.errors import ConductorError
from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.engine.ports import CONDUCTOR
from apps.llm.types import Endpoint
from apps.pools.services import prefill_refused

logger = logging.getLogger(__name__)
_note = database_sync_to_async(prefill_refused, thread_sensitive=False)
ANSWERED = frozenset({CallFault.DIVERGED, CallFault.EMPTY, CallFault.INVALID_OUTPUT})
"""Faults of answers that came whole, so their requests were accepted."""

Place = tuple[int, int | None, str]
"""Round, step (None: the plan) and model."""
CallEnded = ev.StepAttemptFailed | ev.StepCompleted | ev.PlanCallFailed | ev.PlanReplied


@dataclass(slots=True)
class PrefillWatch:
    """Finds in one run's events the models that refuse the beginning of an answer."""

    _suspects: set[Place] = field(default_factory=set)

    def hear(self, event: ev.Event) -> str | None:
        """Take a durable event; return the model that is known to refuse by now.

        It is the name of a worker, or CONDUCTOR.
        """
        if not isinstance(event, CallEnded):
            return None
        place = _place(event)
        fault = getattr(event, "fault", None)
        if fault == CallFault.PREFILL_REFUSED:
            self._suspects.add(place)
        elif place in self._suspects:
            if fault is None or fault in ANSWERED:
                self._suspects.remove(place)
                return place[2]
            if fault == CallFault.BAD_REQUEST:  # so the beginning was not the reason
                self._suspects.remove(place)
        return None


def _place(event: CallEnded) -> Place:
    match event:
        case ev.StepAttemptFailed() | ev.StepCompleted():
            return event.round, event.step, event.worker
        case ev.PlanCallFailed() | ev.PlanReplied():
            return event.round, None, CONDUCTOR


class PrefillNotes:
    """Writes the notes of one process."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(
        self,
        team_id: uuid.UUID,
        run_id: uuid.UUID,
        name: str,
        endpoints: Mapping[str, Endpoint],
    ) -> None:
        """Begin to note that the model `name` refuses; returns at once."""
        task = asyncio.create_task(self._write(team_id, run_id, name, endpoints[name]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Return once everything is noted."""
        await asyncio.gather(*self._tasks)

    async def _write(
        self, team_id: uuid.UUID, run_id: uuid.UUID, name: str, endpoint: Endpoint
    ) -> None:
        try:
            await _note(
                team_id=team_id,
                endpoint=endpoint,
                is_conductor=name == CONDUCTOR,
                run_id=run_id,
            )
        except (DatabaseError, ConductorError) as exc:
            # The next run that meets the refusal will note it.
            logger.warning("%r refuses prefills: not noted: %s", endpoint.name, exc)
