"""Runs that several requests wait for: those that came with one `Idempotency-Key`.

In one process requests meet here, so a run is told to all of them as it happens, and it
is given up when the last of them has left. Between processes and afterwards the claim
in the database and the ledger stand for it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Awaitable, Callable

from apps.core.errors import ConductorError, InvalidInput, NotFound, Overloaded
from apps.core.ids import new_id
from apps.engine.events import RunCancelled
from apps.engine.ports import Progress
from apps.gateway.errors import CLIENT_CLOSED, CLIENT_STALLED
from apps.gateway.exchange import Exchange
from apps.gateway.ports import Backend
from apps.runs.errors import IdempotencyConflict
from apps.runs.types import Listener, LiveRun, RunOrder, RunRecord, RunSummary, Signal

logger = logging.getLogger(__name__)
HEADER = "Idempotency-Key"
SANE_KEY = re.compile(rb"[\x21-\x7e]{1,255}")
CLIENT_LEFT = frozenset({CLIENT_CLOSED, CLIENT_STALLED})
INTERRUPTED = "interrupted"
"""Code of the error of a run that another process will go on with."""
TRIES = 5
POLL_S = 0.5
"""How often a run of another process is looked at."""
UNSEEN_S = 60.0
"""How long a run of another process may take to get on record."""
Begin = Callable[[RunOrder, uuid.UUID | None], Awaitable[LiveRun]]
"""Starts a run, under an id if one is given."""


def idempotency_key(exchange: Exchange) -> str | None:
    """Return the request's idempotency key, if it has one. Raises: InvalidInput."""
    raw = exchange.headers.get(b"idempotency-key")
    if raw is None:
        return None
    if not SANE_KEY.fullmatch(raw):
        raise InvalidInput(
            f"{HEADER}: expected 1 to 255 visible ASCII characters", param=HEADER
        )
    return raw.decode("ascii")


class Started:
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
        """The run once it has ended; else None."""
        self.is_joined = is_joined
        """True: an earlier request began it."""
        self.is_background = is_background
        """True: it goes on without anybody waiting."""
        self._shared = shared
        self._has_left = False

    @property
    def run(self) -> LiveRun:
        """Return the run to wait for; one that has ended has its end at once."""
        if self.live is not None:
            return self.live
        assert self.record is not None
        return ToldRun(self.record)

    @property
    def run_id(self) -> uuid.UUID:
        """Return the run's public id."""
        return self.run.id

    def leave(self, reason: str = CLIENT_CLOSED) -> None:
        """Stop waiting: the run is cancelled if nobody else waits for it."""
        if self._has_left or self.is_background:
            return
        self._has_left = True
        if self._shared is not None:
            self._shared.leave(reason)
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
        """True: everybody has left, so it is being cancelled."""
        live.listen(self._hear)
        self.end = asyncio.ensure_future(live.finished())
        """Done when the run is."""

    @property
    def id(self) -> uuid.UUID:
        """Return the run's public id."""
        return self._live.id

    @property
    def is_ours(self) -> bool:
        """Say whether it executes in this process."""
        return self._is_ours

    def join(self, *, is_first: bool) -> Started:
        """Take a place at the run."""
        self._waiting += 1
        return Started(self, is_joined=not is_first, shared=self)

    def leave(self, reason: str) -> None:
        """Give a place up; the run is cancelled with the last one."""
        self._waiting -= 1
        if self._waiting <= 0 and self._is_ours:
            self.is_given_up = True
            self._live.cancel(reason)

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
        """Return when the last event is durable. Raises: what the run's own does."""
        return await asyncio.shield(self.end)

    def _hear(self, signal: Signal) -> None:
        if not isinstance(signal, Progress) or signal.is_answer:
            self._tape.append(signal)
        for listener in tuple(self._listeners):
            listener(signal)


class ToldRun:
    """A run that has ended, as one that ends at once."""

    def __init__(self, record: RunRecord) -> None:
        self.id = record.run_id
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


class DistantRun:
    """A run of another process: only its end is told, and it can't be stopped here."""

    def __init__(self, backend: Backend, team_id: uuid.UUID, run_id: uuid.UUID) -> None:
        self.id = run_id
        self._backend = backend
        self._team_id = team_id

    def listen(self, listener: Listener) -> None:
        """Nothing is heard of it."""

    def unlisten(self, listener: Listener) -> None:
        """Nothing is heard of it."""

    def cancel(self, reason: str) -> None:
        """The other process stops it when its own clients have left."""

    async def finished(self) -> RunSummary:
        """Return when its end is on record. Raises: Overloaded if it has none."""
        loop = asyncio.get_running_loop()
        lost_at = loop.time() + UNSEEN_S
        while True:
            try:
                summary = (await self._record()).summary
            except NotFound:
                if loop.time() > lost_at:
                    raise Overloaded(
                        f"run {self.id} was claimed and never began", retry_after_s=1
                    ) from None
            else:
                if summary is not None:
                    return _not_given_up(summary)
            await asyncio.sleep(POLL_S)

    async def _record(self) -> RunRecord:
        return await self._backend.run_record(self._team_id, self.id)


def _not_given_up(summary: RunSummary) -> RunSummary:
    if was_given_up(summary):
        raise Overloaded(
            "the client that had begun this run left; ask again", retry_after_s=1
        )
    return summary


def was_given_up(summary: RunSummary) -> bool:
    """Say whether a run was stopped because its client had left."""
    return isinstance(summary.end, RunCancelled) and summary.end.reason in CLIENT_LEFT


class _Entry:
    """A key in use in this process."""

    def __init__(self, digest: bytes) -> None:
        self.digest = digest
        self.opened: asyncio.Future[SharedRun | RunRecord] = asyncio.Future()
        self.settled = asyncio.Event()
        """Set once the key is free, or stands for a run that has ended."""

    def fail(self, exc: BaseException) -> None:
        """Tell those who wait that there is no run."""
        if not isinstance(exc, Exception):
            exc = Overloaded("the first request was given up; ask again")
        self.opened.set_exception(exc)
        self.opened.exception()  # seen, even if nobody waits
        self.settled.set()


class KeyedRuns:
    """The runs of requests with an idempotency key, by team and key."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._entries: dict[tuple[uuid.UUID, str], _Entry] = {}
        self._settling: set[asyncio.Task[None]] = set()

    async def start(
        self, order: RunOrder, key: str, digest: bytes, begin: Begin
    ) -> Started:
        """Return the run that the key stands for, begun if there is none yet.

        Raises: IdempotencyConflict; what `begin` raises.
        """
        while True:
            entry = self._entries.get((order.team_id, key))
            if entry is None:
                return await self._open(order, key, digest, begin)
            if entry.digest != digest:
                raise IdempotencyConflict(
                    f"this {HEADER} belongs to a request with another body"
                )
            found = await asyncio.shield(entry.opened)
            if isinstance(found, RunRecord):
                return Started(record=found, is_joined=True)
            if not found.is_given_up:
                return found.join(is_first=False)
            await entry.settled.wait()

    async def _open(
        self, order: RunOrder, key: str, digest: bytes, begin: Begin
    ) -> Started:
        place = (order.team_id, key)
        entry = self._entries[place] = _Entry(digest)
        try:
            found, is_first = await self._find_or_begin(order, key, digest, begin)
        except BaseException as exc:
            del self._entries[place]
            entry.fail(exc)
            raise
        entry.opened.set_result(found)
        if isinstance(found, RunRecord):
            del self._entries[place]
            return Started(record=found, is_joined=True)
        task = asyncio.create_task(self._settle(place, entry, found))
        self._settling.add(task)
        task.add_done_callback(self._forget)
        return found.join(is_first=is_first)

    async def _find_or_begin(
        self, order: RunOrder, key: str, digest: bytes, begin: Begin
    ) -> tuple[SharedRun | RunRecord, bool]:
        team_id = order.team_id
        for _ in range(TRIES):
            run_id = new_id()
            holder = await self._backend.claim(team_id, key, digest, run_id)
            if holder == run_id:
                return await self._begin(order, key, run_id, begin), True
            found = await self._held(team_id, holder)
            if found is not None:
                return found, False
            await self._backend.release(team_id, key, holder)
        raise Overloaded(f"this {HEADER} changes hands too quickly", retry_after_s=1)

    async def _begin(
        self, order: RunOrder, key: str, run_id: uuid.UUID, begin: Begin
    ) -> SharedRun:
        try:
            return SharedRun(await begin(order, run_id))
        except BaseException:
            await self._backend.release(order.team_id, key, run_id)
            raise

    async def _held(
        self, team_id: uuid.UUID, run_id: uuid.UUID
    ) -> SharedRun | RunRecord | None:
        """Return the run that holds a key; None if it gave up, so the key is free."""
        if live := self._backend.find_run(team_id, run_id):
            return SharedRun(live)
        try:
            record = await self._backend.run_record(team_id, run_id)
        except NotFound:  # claimed this moment, by another process
            record = None
        if record is None or record.summary is None:
            distant = DistantRun(self._backend, team_id, run_id)
            return SharedRun(distant, is_ours=False)
        return None if was_given_up(record.summary) else record

    async def _settle(
        self, place: tuple[uuid.UUID, str], entry: _Entry, shared: SharedRun
    ) -> None:
        try:
            if not await _keeps_key(shared):
                await self._backend.release(*place, shared.id)
        finally:
            del self._entries[place]
            entry.settled.set()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._settling.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.error("an idempotency key was not settled", exc_info=failure)


async def _keeps_key(shared: SharedRun) -> bool:
    try:
        summary = await shared.finished()
    except ConductorError as error:
        return error.code == INTERRUPTED or not shared.is_ours
    return not was_given_up(summary)
