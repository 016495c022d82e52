"""One `Idempotency-Key`, one run: for 24 hours, in all processes.

In one process requests meet here, so all of them receive the run as it happens.
Between processes, and afterwards, they use the claim in the database and the ledger.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from apps.core.database_outage import is_outage
from apps.core.errors import ConductorError, InvalidInput, NotFound, Overloaded
from apps.core.ids import new_id
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange
from apps.gateway.run_handles import KeyedRun, RunHandle, SharedRun, was_given_up
from apps.runs.errors import IdempotencyConflict
from apps.runs.types import LiveRun, RunOrder, RunRecord

logger = logging.getLogger(__name__)
HEADER = "Idempotency-Key"
SANE_KEY = re.compile(rb"[\x21-\x7e]{1,255}")
INTERRUPTED = "interrupted"
"""Code of the error of a run that another process will go on with."""
TRIES = 5
FREE_EVERY_S = 1.0
FREE_FOR_S = 60.0
"""So long a process tries to free a key; then the next request that has it does."""
Begin = Callable[[RunOrder, uuid.UUID | None], Awaitable[LiveRun | RunRecord]]
"""Starts a run, under an id if one is given; a record: in another process."""


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
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(
        self, order: RunOrder, key: str, digest: bytes, begin: Begin
    ) -> RunHandle:
        """Return the run that the key stands for, begun if there is none yet.

        Raises: IdempotencyConflict; what `begin` raises.
        """
        while True:
            entry = self._entries.get((order.team_id, key))
            if entry is None:
                return await self._open(order, key, digest, begin)
            if entry.digest != digest:
                raise IdempotencyConflict(
                    f"this {HEADER} belongs to a request with another body or API key"
                )
            found = await asyncio.shield(entry.opened)
            if isinstance(found, RunRecord):
                return RunHandle(record=found, is_joined=True)
            if not found.is_given_up:
                return found.join(is_first=False)
            await entry.settled.wait()

    async def _open(
        self, order: RunOrder, key: str, digest: bytes, begin: Begin
    ) -> RunHandle:
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
            return RunHandle(record=found, is_joined=not is_first)
        self._do_aside(self._settle(place, entry, found))
        return found.join(is_first=is_first)

    async def _find_or_begin(
        self, order: RunOrder, key: str, digest: bytes, begin: Begin
    ) -> tuple[SharedRun | RunRecord, bool]:
        team_id = order.team_id
        for _ in range(TRIES):
            run_id = new_id()
            holder = await self._claim(team_id, key, digest, run_id)
            if holder == run_id:
                return await self._begin(order, key, run_id, begin), True
            found = await self._held(team_id, holder)
            if found is not None:
                return found, False
            await self._backend.release(team_id, key, holder)
        raise Overloaded(f"this {HEADER} changes hands too quickly", retry_after_s=1)

    async def _claim(
        self, team_id: uuid.UUID, key: str, digest: bytes, run_id: uuid.UUID
    ) -> uuid.UUID:
        try:
            return await self._backend.claim(team_id, key, digest, run_id)
        except ConductorError:
            raise
        except BaseException:  # it may have claimed the key, and its answer was lost
            self._do_aside(self._free_in_time(team_id, key, run_id))
            raise

    async def _free(self, team_id: uuid.UUID, key: str, run_id: uuid.UUID) -> None:
        """Free a key now, or once the database is back."""
        try:
            await self._backend.release(team_id, key, run_id)
        except Exception as exc:
            if not is_outage(exc):
                raise
            self._do_aside(self._free_in_time(team_id, key, run_id))

    async def _free_in_time(
        self, team_id: uuid.UUID, key: str, run_id: uuid.UUID
    ) -> None:
        async with asyncio.timeout(FREE_FOR_S):
            while True:
                try:
                    await self._backend.release(team_id, key, run_id)
                    return
                except Exception as exc:
                    if not is_outage(exc):
                        raise
                await asyncio.sleep(FREE_EVERY_S)

    async def _begin(
        self, order: RunOrder, key: str, run_id: uuid.UUID, begin: Begin
    ) -> SharedRun | RunRecord:
        try:
            run = await begin(replace(order, idempotency_key=key), run_id)
        except BaseException:
            await self._free(order.team_id, key, run_id)
            raise
        return run if isinstance(run, RunRecord) else SharedRun(run)

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
            distant = KeyedRun(self._backend, team_id, run_id)
            return SharedRun(distant, is_ours=False)
        return None if was_given_up(record.summary) else record

    async def _settle(
        self, place: tuple[uuid.UUID, str], entry: _Entry, shared: SharedRun
    ) -> None:
        try:
            if not await _keeps_key(shared):
                await self._free(*place, shared.id)
        finally:
            del self._entries[place]
            entry.settled.set()

    def _do_aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.error("an idempotency key was not settled", exc_info=failure)


async def _keeps_key(shared: SharedRun) -> bool:
    await asyncio.wait({shared.end})
    if shared.end.cancelled():  # not looked at any more, so it is another process's
        return True
    error = shared.end.exception()
    if isinstance(error, ConductorError):
        return error.code == INTERRUPTED or not shared.is_ours
    if error is not None:
        raise error
    return not was_given_up(shared.end.result())
