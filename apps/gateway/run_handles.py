"""A request's handle on a run, which several requests may share.

A shared run is sent to all requests that wait for it, from its beginning on, and
cancelled when the last of them has left.
"""

from __future__ import annotations

import asyncio
import uuid

from apps.core.errors import NotFound, Overloaded
from apps.engine.events import RunCancelled
from apps.engine.ports import Progress
from apps.gateway.backend import Backend
from apps.gateway.errors import CLIENT_CLOSED, CLIENT_STALLED, ClientGone
from apps.runs.types import (
    IGNORED_FIELDS,
    Listener,
    LiveRun,
    RunRecord,
    RunSummary,
    Signal,
)

CLIENT_LEFT = frozenset({CLIENT_CLOSED, CLIENT_STALLED})
POLL_S = 0.5
"""How often a run of another process is looked at."""
UNSEEN_S = 60.0
"""How long a run of another process may take to get on record."""


class RunHandle:
    """A request's place at a run: one that began for it, is shared, or has ended."""

    __slots__ = ("_has_left", "_shared", "is_background", "is_joined", "live", "record")

    def __init__(
        self,
        live: LiveRun | None = None,
        record: RunRecord | None = None,
        *,
        is_joined: bool = False,
        is_background: bool = False,
        shared: SharedRun | None = None,
    ) -> None:
        self.live = live
        """The run while it executes; else None."""
        self.record = record
        """The run once it has ended, or if it executes elsewhere; else None."""
        self.is_joined = is_joined
        """True: an earlier request began it."""
        self.is_background = is_background
        """True: the run continues when no request waits for it."""
        self._shared = shared
        self._has_left = False

    @property
    def run(self) -> LiveRun:
        """Return the run to wait for: of one on record the end is known."""
        if self.live is not None:
            return self.live
        assert self.record is not None
        return FinishedRun(self.record)

    @property
    def ignored(self) -> str:
        """Return the names of the request's fields that have no effect."""
        return self.run.ignored

    @property
    def run_id(self) -> uuid.UUID:
        """Return the run's public id."""
        return self.run.id

    def leave(self, reason: str = CLIENT_CLOSED) -> None:
        """Stop waiting; a run that no other request waits for is cancelled.

        A background run is not. A run of another process is no longer polled.
        """
        shared = self._shared
        if self._has_left or (self.is_background and (not shared or shared.is_ours)):
            return
        self._has_left = True
        if shared is not None:
            shared.leave(reason)
        elif self.live is not None:
            self.live.cancel(reason)


class SharedRun:
    """A live run for several requests; who comes late hears what they missed."""

    def __init__(self, live: LiveRun, *, is_ours: bool = True) -> None:
        self._live = live
        self._is_ours = is_ours
        self._waiting = 0
        self._tape: list[Signal] = []
        self._listeners: list[Listener] = []
        self.is_given_up = False
        """True: all requests have left, and none may join."""
        live.listen(self._hear)
        self.end = asyncio.ensure_future(live.finished())
        """Done when the run is."""

    @property
    def id(self) -> uuid.UUID:
        """Return the run's public id."""
        return self._live.id

    @property
    def ignored(self) -> str:
        """Return the names of the request's fields that have no effect."""
        return self._live.ignored

    @property
    def is_ours(self) -> bool:
        """Say whether it executes in this process."""
        return self._is_ours

    def join(self, *, is_first: bool) -> RunHandle:
        """Take a place at the run."""
        self._waiting += 1
        return RunHandle(self, is_joined=not is_first, shared=self)

    def leave(self, reason: str) -> None:
        """Give a place up; the run is cancelled with the last one.

        One of another process goes on, and is looked at no more.
        """
        self._waiting -= 1
        if self._waiting > 0:
            return
        self.is_given_up = True
        if self._is_ours:
            self._live.cancel(reason)
        else:
            self.end.cancel()

    def listen(self, listener: Listener) -> None:
        """Call `listener` for each signal from the run's beginning on."""
        for signal in self._tape:
            listener(signal)
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        self._listeners.remove(listener)

    def cancel(self, reason: str) -> None:
        """Stop the run for everybody."""
        self._live.cancel(reason)

    async def finished(self) -> RunSummary:
        """Return when the last event is durable.

        Raises: what the run's own does; ClientGone if all requests have left.
        """
        try:
            return await asyncio.shield(self.end)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.end.cancelled() and not (task and task.cancelling()):
                raise ClientGone from None
            raise

    def _hear(self, signal: Signal) -> None:
        if not isinstance(signal, Progress) or signal.is_answer:
            self._tape.append(signal)
        for listener in tuple(self._listeners):
            listener(signal)


def begun(run: LiveRun | RunRecord) -> RunHandle:
    """Return a place at a run that has just begun, here or in another process."""
    if isinstance(run, RunRecord):
        return RunHandle(record=run)
    return RunHandle(run)


class FinishedRun:
    """A run on record, as one that ends at once."""

    def __init__(self, record: RunRecord) -> None:
        self.id = record.run_id
        self.ignored = record.context.get(IGNORED_FIELDS, "")
        self._record = record

    def listen(self, listener: Listener) -> None:
        """Nothing happens any more."""

    def unlisten(self, listener: Listener) -> None:
        """Nothing happens any more."""

    def cancel(self, reason: str) -> None:
        """It has ended."""

    async def finished(self) -> RunSummary:
        """Return the end."""
        assert self._record.summary is not None
        return self._record.summary


class RemoteRun:
    """A run of another process: only its end is known, and it can't be stopped here."""

    def __init__(self, backend: Backend, team_id: uuid.UUID, run_id: uuid.UUID) -> None:
        self.id = run_id
        self.ignored = ""
        """Not known here."""
        self._backend = backend
        self._team_id = team_id

    def listen(self, listener: Listener) -> None:
        """Nothing is heard of it."""

    def unlisten(self, listener: Listener) -> None:
        """Nothing is heard of it."""

    def cancel(self, reason: str) -> None:
        """Does nothing: a run of another process is cancelled by its id."""

    async def finished(self) -> RunSummary:
        """Return when its end is on record. Raises: Overloaded if it never began."""
        loop = asyncio.get_running_loop()
        lost_at = loop.time() + UNSEEN_S
        while True:  # there is nothing to wait for: only the database knows
            if await self._is_over(is_lost=loop.time() > lost_at):
                break
            await asyncio.sleep(POLL_S)
        record = await self._backend.run_record(self._team_id, self.id)
        assert record.summary is not None  # its last entry and its row are one commit
        return record.summary

    async def _is_over(self, *, is_lost: bool) -> bool:
        try:
            return await self._backend.is_over(self._team_id, self.id)
        except NotFound:
            if not is_lost:
                return False
            raise Overloaded(
                f"run {self.id} was claimed and never began", retry_after_s=1
            ) from None


class KeyedRun(RemoteRun):
    """One that an idempotency key stands for."""

    async def finished(self) -> RunSummary:
        """Return its end. Raises: Overloaded also if its client has left it."""
        summary = await super().finished()
        if was_given_up(summary):
            raise Overloaded(
                "the client that had begun this run left; ask again", retry_after_s=1
            )
        return summary


def was_given_up(summary: RunSummary) -> bool:
    """Say whether a run was stopped because its client had left."""
    return isinstance(summary.end, RunCancelled) and summary.end.reason in CLIENT_LEFT
