"""Group commit: one thread per process that writes every run's entries.

Whatever has arrived is committed as one transaction, then the waiters are woken: one
run pays one commit of latency, a hundred runs share it. A waiter hears of success only
after the commit. What a commit is and how it fails: `group_commit.py`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Iterable, Sequence
from queue import SimpleQueue
from typing import Protocol

from django.db import DEFAULT_DB_ALIAS, connections

from apps.audit.append import prepare
from apps.audit.errors import LedgerUnavailable
from apps.audit.group_commit import (
    RETRY_DELAYS_S,
    Done,
    GroupCommitter,
    Pending,
    Result,
)
from apps.audit.metrics import GROUP
from apps.audit.sql_dialects import dialect_of
from apps.audit.types import Batch

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Batches in the queue; more are refused, for then the database stands still."""
MAX_GROUP = 256
"""Batches in one transaction: bounds how long the first of them waits."""


class Writer(Protocol):
    """What code on an event loop writes the ledger with."""

    @property
    def is_open(self) -> bool:
        """Say whether anything can be written."""
        ...

    def post(self, batch: Batch) -> asyncio.Future[list[int]]:
        """Queue `batch` from an event loop; the future holds its entries' seqs.

        It is done once they are durable. Cancelling it does not undo the write.
        Raises and fails like `write`.
        """
        ...

    async def write(self, batch: Batch) -> list[int]:
        """Return the seqs of the batch's entries once they are durable.

        Cancelling does not undo the write. Raises: NotCanonical, InvalidInput,
        StaleWrite, LedgerUnavailable, DatabaseError.
        """
        ...

    def close(self) -> None:
        """Write what has been queued, then stop. Blocks; not for the event loop."""
        ...


class LedgerWriter:
    """Writes batches in its own thread, over its own connection."""

    def __init__(
        self,
        using: str = DEFAULT_DB_ALIAS,
        *,
        retry_delays_s: Sequence[float] = RETRY_DELAYS_S,
    ) -> None:
        self._using = using
        self._retry_delays_s = retry_delays_s
        self._dialect = dialect_of(connections[using])
        self._queue: SimpleQueue[Pending | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._last_size = 0
        self._thread = threading.Thread(
            target=self._run, name="ledger-writer", daemon=True
        )
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """See `Writer`."""
        return not self._is_closed and self._thread.is_alive()

    def submit(self, batch: Batch, done: Done) -> None:
        """Queue `batch`; `done` is called in the writer's thread with the outcome.

        If this raises, `done` is not called. Raises: NotCanonical, InvalidInput,
        LedgerUnavailable.
        """
        self._put(Pending(prepare(batch, self._dialect), done))

    def post(self, batch: Batch) -> asyncio.Future[list[int]]:
        """See `Writer`."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._put(Pending(prepare(batch, self._dialect), future))
        return future

    async def write(self, batch: Batch) -> list[int]:
        """See `Writer`."""
        return await self.post(batch)

    def close(self) -> None:
        """Write what has been queued, then stop."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
        self._thread.join()

    # --- queue -------------------------------------------------------------------

    def _put(self, pending: Pending) -> None:
        # The lock keeps the end mark last: nothing is forgotten behind it.
        with self._lock:
            if self._is_closed:
                raise LedgerUnavailable("the ledger is closed", retry_after_s=5)
            if self._queue.qsize() >= MAX_WAITING:
                raise LedgerUnavailable("the ledger is overloaded", retry_after_s=5)
            self._queue.put(pending)

    def _next_group(self, window_s: float) -> list[Pending]:
        """Wait for work; an empty list is the end."""
        first = self._queue.get()
        if first is None:
            return []
        if window_s:
            time.sleep(window_s)
        group = [first]
        for _ in range(min(self._queue.qsize(), MAX_GROUP - 1)):
            pending = self._queue.get()
            if pending is None:
                self._queue.put(None)
                break
            group.append(pending)
        return group

    # --- thread ------------------------------------------------------------------

    def _run(self) -> None:
        delays_s = self._retry_delays_s
        committer = GroupCommitter(_tell, self._using, retry_delays_s=delays_s)
        group: list[Pending] = []
        try:
            while group := self._next_group(committer.window_s):
                GROUP.observe(len(group))
                committer.commit(group)
        finally:
            # Only a fault of this module leaves anyone here; nobody may wait for ever.
            committer.refuse(group + self._drain())
            committer.close()

    def _drain(self) -> list[Pending]:
        with self._lock:
            self._is_closed = True
            rest = [self._queue.get() for _ in range(self._queue.qsize())]
        return [pending for pending in rest if pending is not None]


_Answer = tuple[asyncio.Future[list[int]], Result]


def _tell(results: Iterable[tuple[Pending, Result]]) -> None:
    """Hand out results: waking a loop is dear, so each is woken once for all."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
    for pending, result in results:
        waiter = pending.waiter
        if isinstance(waiter, asyncio.Future):
            by_loop.setdefault(waiter.get_loop(), []).append((waiter, result))
        elif callable(waiter):
            _call(waiter, result)
    for loop, answers in by_loop.items():
        try:
            loop.call_soon_threadsafe(_wake, answers)
        except RuntimeError:
            logger.warning("ledger: %d waiters are gone with their loop", len(answers))


def _call(done: Done, result: Result) -> None:
    try:
        done(result)
    except Exception:
        # A fault of one draft must not stop the ledger of the whole process.
        logger.exception("ledger: a callback failed")


def _wake(answers: list[_Answer]) -> None:
    for future, result in answers:
        if future.done():
            continue  # cancelled meanwhile
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)


_writer: Writer | None = None
_writer_pid = 0
_writer_lock = threading.Lock()


def get_writer() -> Writer:
    """Return this process's writer; the first call starts one if none is in use."""
    global _writer, _writer_pid
    writer = _writer
    if writer is not None and _writer_pid == os.getpid():
        return writer  # without the lock: asked for with every commit of every run
    with _writer_lock:
        # A forked child inherits the object but not its thread.
        if _writer is None or _writer_pid != os.getpid():
            _writer, _writer_pid = LedgerWriter(), os.getpid()
        return _writer


def use_writer(writer: Writer) -> None:
    """Let this process write with `writer` from now on."""
    global _writer, _writer_pid
    with _writer_lock:
        _writer, _writer_pid = writer, os.getpid()


def close_writer() -> None:
    """Write what is queued and stop this process's writer, if it has one."""
    global _writer
    with _writer_lock:
        if _writer is not None and _writer_pid == os.getpid():
            _writer.close()
        _writer = None
