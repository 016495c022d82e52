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
        self._flush: asyncio.Task[None] | None = None
        self._is_flushing = False
        self._failure: BaseException | None = None

    def note(self, *events: Event) -> None:
        """Keep events for the next commit."""
        self._noted.extend(events)

    def post(self, *events: Event) -> None:
        """Have events recorded soon, without waiting for it.

        They ride along with a commit of this moment, if there is one. If they cannot be
        recorded, the next commit raises the reason.
        """
        self._noted.extend(events)
        if self._flush is None:
            self._flush = asyncio.create_task(self._commit_soon())
            self._flush.add_done_callback(self._end_flush)

    async def commit(self, *events: Event) -> None:
        """Record everything noted and `events`; return when it is durable.

        Raises: whatever the recorder raises, now or for what was posted before.
        """
        if self._flush is not None and self._is_flushing:
            await asyncio.wait([self._flush])  # no event overtakes an earlier one
        if self._failure is not None:
            raise self._failure
        await self._record(*events)

    async def _commit_soon(self) -> None:
        await asyncio.sleep(0)
        self._is_flushing = True
        await self._record()

    def _end_flush(self, flush: asyncio.Task[None]) -> None:
        self._flush, self._is_flushing = None, False
        if not flush.cancelled():
            self._failure = flush.exception()

    async def _record(self, *events: Event) -> None:
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
