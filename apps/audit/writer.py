"""Group commit: one thread per process that writes every run's entries.

Whatever has arrived is committed as one transaction, then the waiters are woken: one
run pays one commit of latency, a hundred runs share it. A waiter hears of success only
after the commit. A batch that the database refuses fails alone: nothing of it is
stored, the others are, and the chains have no gap.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import NamedTuple

from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    connections,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit.append import Appended, PreparedBatch, append, lock_heads, prepare
from apps.audit.dialects import dialect_of
from apps.audit.errors import LedgerUnavailable, StaleWrite
from apps.audit.types import Batch
from apps.audit.wal import WalCheckpointer

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Batches in the queue; more are refused, for then the database stands still."""
MAX_GROUP = 256
"""Batches in one transaction: bounds how long the first of them waits."""
CROWD = 8
"""A commit of this many batches says that more are on their way."""
WINDOW_S = 0.001
"""How long the next commit then waits for them."""
RETRY_DELAYS_S = (0.1, 0.4, 1.5, 3.0)
"""Waits between tries when the database is away: a restart is survived."""
POSTGRESQL_PROGRAM_LIMIT = "54"
"""Class of errors that psycopg calls operational though the statement is to blame."""

Result = list[int] | BaseException
Done = Callable[[Result], None]


class _Pending(NamedTuple):
    batch: PreparedBatch
    waiter: asyncio.Future[list[int]] | Done


_Answer = tuple[asyncio.Future[list[int]], Result]


class LedgerWriter:
    """Writes batches in its own thread, over its own connection."""

    def __init__(
        self,
        using: str = DEFAULT_DB_ALIAS,
        *,
        retry_delays_s: Sequence[float] = RETRY_DELAYS_S,
    ) -> None:
        self._using = using
        self._dialect = dialect_of(connections[using])
        self._retry_delays_s = retry_delays_s
        self._queue: SimpleQueue[_Pending | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_down = False
        self._last_size = 0
        self._last_try: Appended | None = None
        self._checkpointer: WalCheckpointer | None = None
        self._thread = threading.Thread(
            target=self._run, name="ledger-writer", daemon=True
        )
        self._thread.start()

    def submit(self, batch: Batch, done: Done) -> None:
        """Queue `batch`; `done` is called in the writer's thread with the outcome.

        If this raises, `done` is not called. Raises: NotCanonical, InvalidInput,
        LedgerUnavailable.
        """
        self._put(_Pending(prepare(batch, self._dialect), done))

    def post(self, batch: Batch) -> asyncio.Future[list[int]]:
        """Queue `batch` from an event loop; the future holds its entries' seqs.

        It is done once they are durable. Cancelling it does not undo the write. Raises
        and fails like `write`.
        """
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._put(_Pending(prepare(batch, self._dialect), future))
        return future

    async def write(self, batch: Batch) -> list[int]:
        """Return the seqs of the batch's entries once they are durable.

        A cancelled caller does not undo the write. Raises: NotCanonical, InvalidInput,
        StaleWrite, LedgerUnavailable, DatabaseError.
        """
        return await self.post(batch)

    def close(self) -> None:
        """Write what has been queued, then stop."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
        self._thread.join()

    # --- queue -------------------------------------------------------------------

    def _put(self, pending: _Pending) -> None:
        # The lock keeps the end mark last: nothing is forgotten behind it.
        with self._lock:
            if self._is_closed:
                raise LedgerUnavailable("the ledger is closed", retry_after_s=5)
            if self._queue.qsize() >= MAX_WAITING:
                raise LedgerUnavailable("the ledger is overloaded", retry_after_s=5)
            self._queue.put(pending)

    def _next_group(self) -> list[_Pending]:
        """Wait for work; an empty list is the end."""
        first = self._queue.get()
        if first is None:
            return []
        if self._last_size >= CROWD:
            time.sleep(WINDOW_S)
        group = [first]
        for _ in range(min(self._queue.qsize(), MAX_GROUP - 1)):
            pending = self._queue.get()
            if pending is None:
                self._queue.put(None)
                break
            group.append(pending)
        self._last_size = len(group)
        return group

    # --- thread ------------------------------------------------------------------

    def _run(self) -> None:
        connection = connections[self._using]
        if connection.vendor == "sqlite":
            self._checkpointer = WalCheckpointer(self._using)
        group: list[_Pending] = []
        try:
            while group := self._next_group():
                self._commit(group)
        finally:
            # Only a fault of this module leaves anyone here; nobody may wait for ever.
            self._refuse(group + self._drain())
            connection.close()
            if self._checkpointer:
                self._checkpointer.close()

    def _drain(self) -> list[_Pending]:
        with self._lock:
            self._is_closed = True
            rest = [self._queue.get() for _ in range(self._queue.qsize())]
        return [pending for pending in rest if pending is not None]

    def _refuse(
        self, group: Iterable[_Pending], cause: Exception | None = None
    ) -> None:
        results: list[tuple[_Pending, Result]] = []
        for pending in group:
            error = LedgerUnavailable("the ledger's database is away", retry_after_s=5)
            error.__cause__ = cause
            results.append((pending, error))
        _tell(results)

    def _commit(self, group: list[_Pending]) -> None:
        try:
            seqs = self._write_durably([pending.batch for pending in group])
        except (StaleWrite, DatabaseError, ValueError, OverflowError) as exc:
            if _is_outage(exc):
                self._refuse(group, exc)
            elif len(group) == 1:
                _tell([(group[0], exc)])
            else:
                # Halving finds the guilty batch among n in 2 log n commits.
                middle = len(group) // 2
                self._commit(group[:middle])
                self._commit(group[middle:])
        else:
            _tell(zip(group, map(list, seqs), strict=True))
            if self._checkpointer:
                self._checkpointer.notice_commit()

    def _write_durably(self, batches: list[PreparedBatch]) -> list[range]:
        """Commit, trying again while the database is away, but not for ever."""
        self._last_try = None
        delays_s = iter(() if self._is_down else self._retry_delays_s)
        while True:
            try:
                seqs = self._try(batches)
            except (OperationalError, InterfaceError) as exc:
                connections[self._using].close()
                delay_s = next(delays_s, None)
                if delay_s is None or not _is_outage(exc):
                    self._is_down = _is_outage(exc)
                    raise
                logger.warning("ledger: database away, trying again: %s", exc)
                time.sleep(delay_s)
            else:
                self._is_down = False
                return seqs

    def _try(self, batches: list[PreparedBatch]) -> list[range]:
        connection = self._connect()
        if self._last_try and self._was_committed(connection, self._last_try):
            return self._last_try.seqs
        with transaction.atomic(using=self._using):
            self._last_try = append(connection, batches)
        return self._last_try.seqs

    def _connect(self) -> BaseDatabaseWrapper:
        connection = connections[self._using]
        if connection.connection is None and connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                # FULL: a commit survives a power loss, as "durable" must mean.
                cursor.execute("PRAGMA synchronous = FULL")
                cursor.execute("PRAGMA wal_autocheckpoint = 0")
                # 32 MiB: with many teams many pages are in use, 2 MiB would thrash.
                cursor.execute("PRAGMA cache_size = -32768")
        return connection

    def _was_committed(self, connection: BaseDatabaseWrapper, last: Appended) -> bool:
        """Say whether a try was stored although the connection broke in its commit.

        Whoever still holds the head's lock may yet commit, so the lock comes first.
        """
        team_id, seq, entry_hash = last.first
        with transaction.atomic(using=self._using), connection.cursor() as cursor:
            lock_heads(cursor, self._dialect, [team_id])
            cursor.execute(
                "SELECT 1 FROM audit_entry "
                "WHERE team_id = %s AND seq = %s AND hash = %s",
                (self._dialect.adapt(team_id), seq, entry_hash),
            )
            return cursor.fetchone() is not None


def _is_outage(exc: Exception) -> bool:
    """Say whether the database is to blame and not the statement."""
    if not isinstance(exc, (OperationalError, InterfaceError)):
        return False
    code = getattr(exc.__cause__, "sqlite_errorcode", None)
    if code is not None:
        return bool(code & 0xFF != sqlite3.SQLITE_ERROR)
    state = getattr(exc.__cause__, "sqlstate", None)
    return state is None or not state.startswith(POSTGRESQL_PROGRAM_LIMIT)


def _tell(results: Iterable[tuple[_Pending, Result]]) -> None:
    """Hand out results: waking a loop is dear, so each is woken once for all."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
    for pending, result in results:
        waiter = pending.waiter
        if isinstance(waiter, asyncio.Future):
            by_loop.setdefault(waiter.get_loop(), []).append((waiter, result))
        else:
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
        # A caller's fault must not stop the ledger of the whole process.
        logger.exception("ledger: a callback failed")


def _wake(answers: list[_Answer]) -> None:
    for future, result in answers:
        if future.done():
            continue  # the caller was cancelled meanwhile
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)


_writer: LedgerWriter | None = None
_writer_pid = 0
_writer_lock = threading.Lock()


def get_writer() -> LedgerWriter:
    """Return this process's writer; the first call starts it."""
    global _writer, _writer_pid
    writer = _writer
    if writer is not None and _writer_pid == os.getpid():
        return writer  # without the lock: asked for with every commit of every run
    with _writer_lock:
        # A forked child inherits the object but not its thread.
        if _writer is None or _writer_pid != os.getpid():
            _writer, _writer_pid = LedgerWriter(), os.getpid()
        return _writer


def close_writer() -> None:
    """Write what is queued and stop this process's writer, if it has one."""
    global _writer
    with _writer_lock:
        if _writer is not None and _writer_pid == os.getpid():
            _writer.close()
        _writer = None
