"""The run's pen: collects events and makes them durable, in order."""

from __future__ import annotations

import asyncio

from apps.engine.calls import Attempt
from apps.engine.errors import CallFailed
from apps.engine.events import Event, PlanCallFailed, PlanReplied
from apps.engine.ports import ProgressSink, Recorder


class Journal:
    """Holds events back until something must be durable, then records them at once.

    An event that can wait (`note`) is committed with the next one that cannot: a run of
    one step takes two commits.
    """

    def __init__(self, recorder: Recorder, progress: ProgressSink) -> None:
        self._recorder = recorder
        self._progress = progress
        self._noted: list[Event] = []
        self._noted_count = 0
        """How many events were noted since the run began."""
        self._taken_count = 0
        """How many of them a write has taken, whatever came of it."""
        self._writing: asyncio.Future[None] | None = None
        self._flush: asyncio.Task[None] | None = None
        self._is_due = False
        self._failure: Exception | None = None

    def note(self, *events: Event) -> None:
        """Keep events for the next commit."""
        self._noted.extend(events)
        self._noted_count += len(events)

    def post(self, *events: Event) -> None:
        """Have events recorded soon, without waiting for it.

        They ride along with a commit of this moment, if there is one. If they cannot be
        recorded, the next commit raises the reason.
        """
        self.note(*events)
        self._is_due = True
        if self._flush is None:
            self._begin_flush()

    async def commit(self, *events: Event) -> None:
        """Record everything noted and `events`; return when it is durable.

        When cancelled it does all the same before it raises CancelledError.
        Raises: whatever the recorder raises, now or for what was posted before.
        """
        self.note(*events)
        mine = self._noted_count
        cancelled: asyncio.CancelledError | None = None
        # One at a time: of two on their way the ledger might refuse the earlier alone.
        while self._writing is not None:
            try:
                await asyncio.wait([self._writing])
            except asyncio.CancelledError as exc:
                cancelled = exc
        if self._failure is not None:
            raise self._failure  # a record with a gap must not go on
        if self._taken_count < mine:
            await self._record()
        if cancelled is not None:
            raise cancelled

    def _begin_flush(self) -> None:
        self._flush = asyncio.create_task(self._commit_soon())
        self._flush.add_done_callback(self._end_flush)

    async def _commit_soon(self) -> None:
        await asyncio.sleep(0)
        await self.commit()

    def _end_flush(self, flush: asyncio.Task[None]) -> None:
        self._flush = None
        if flush.cancelled():
            return
        flush.exception()  # kept in `_failure`; seen here
        if self._is_due and self._failure is None:
            self._begin_flush()  # for what was posted meanwhile

    async def _record(self) -> None:
        """Record everything noted, while nothing else is being recorded."""
        batch = tuple(self._noted)
        self._noted.clear()
        self._taken_count = self._noted_count
        self._is_due = False
        self._writing = asyncio.get_running_loop().create_future()
        cancelled: asyncio.CancelledError | None = None
        try:
            await self._recorder.record(*batch)
        except asyncio.CancelledError as exc:
            cancelled = exc  # durable all the same: see Recorder.record
        except Exception as exc:
            self._failure = exc
            raise
        finally:
            self._writing.set_result(None)
            self._writing = None
        for event in batch:
            self._progress.event(event)
        if cancelled is not None:
            raise cancelled


def plan_replied(number: int, call: int, attempt: Attempt) -> PlanReplied:
    """Return the event of a call for the plan of a round that has its answer."""
    return PlanReplied(
        number,
        call,
        attempt.text,
        attempt.finish_reason,
        attempt.model,
        attempt.usage,
        attempt.cost_micros,
        attempt.latency_ms,
    )


def plan_call_failed(
    number: int, call: int, attempt: Attempt, failure: CallFailed
) -> PlanCallFailed:
    """Return the event of a call for the plan of a round that has none."""
    return PlanCallFailed(
        number,
        call,
        failure.fault,
        failure.message,
        attempt.usage,
        attempt.cost_micros,
        attempt.latency_ms,
    )
