"""The run's pen: collects events and makes them durable, in order."""

from __future__ import annotations

import asyncio

from apps.engine.events import Event
from apps.engine.ports import ProgressSink, Recorder


class Journal:
    """Holds events back until something must be durable, then records them at once.

    An event that nobody needs yet (`note`) rides along with the next commit: a run of
    one step takes two commits.
    """

    def __init__(self, recorder: Recorder, progress: ProgressSink) -> None:
        self._recorder = recorder
        self._progress = progress
        self._noted: list[Event] = []

    def note(self, *events: Event) -> None:
        """Keep events for the next commit."""
        self._noted.extend(events)

    async def commit(self, *events: Event) -> None:
        """Record everything noted and `events`; return when it is durable."""
        batch = (*self._noted, *events)
        self._noted.clear()
        if not batch:
            return
        cancelled: asyncio.CancelledError | None = None
        try:
            await self._recorder.record(*batch)
        except asyncio.CancelledError as exc:
            cancelled = exc  # durable all the same: see Recorder.record
        for event in batch:
            self._progress.event(event)
        if cancelled is not None:
            raise cancelled
