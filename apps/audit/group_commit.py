"""Commits groups of batches, each as one transaction, and says what became of them.

A batch that the database refuses fails alone: nothing of it is stored, the others are,
and the chains have no gap. A database that is away is tried again for a while. Belongs
to one thread, which it gives a connection of its own.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit.append import Appended, PreparedBatch, append, lock_heads
from apps.audit.errors import LedgerUnavailable, StaleWrite
from apps.audit.sql_dialects import dialect_of
from apps.audit.storage.sqlite_wal import WalCheckpointer
from apps.core.database_outage import is_outage

logger = logging.getLogger(__name__)

RETRY_DELAYS_S = (0.1, 0.4, 1.5, 3.0)
"""Waits between tries when the database is away: a restart is survived."""
RETRY_FOR_S = 5.0
"""After this long there is no other try: one may itself wait for a connection."""
LOCK_WAIT_S = 20.0
"""How long a commit waits for others that write to the same SQLite database."""
LOCK_POLL_S = 0.0005
CROWD = 8
"""A commit of this many batches says that more are on their way."""
CROWD_WINDOW_S = 0.001
"""How long the next commit then waits for them."""
MIN_LOCK_WAIT_S, MAX_WINDOW_S = 0.002, 0.02
"""A commit that has waited so long for those of other processes lets the next one
gather batches for as long, within bounds: there are fewer commits to wait for then."""
POSTGRESQL_PROGRAM_LIMIT = "54"
"""Class of errors that psycopg calls operational though the statement is to blame."""

Result = list[int] | BaseException
Done = Callable[[Result], None]


class Pending(NamedTuple):
    """A batch on its way, and who waits for it."""

    batch: PreparedBatch
    waiter: asyncio.Future[list[int]] | Done | int
    """A number stands for a waiter in another process."""


Tell = Callable[[Iterable[tuple[Pending, Result]]], None]


class GroupCommitter:
    """Writes groups over one connection and hands each batch's result to `tell`."""

    def __init__(
        self,
        tell: Tell,
        using: str = DEFAULT_DB_ALIAS,
        *,
        retry_delays_s: Sequence[float] = RETRY_DELAYS_S,
    ) -> None:
        self._tell = tell
        self._using = using
        self._dialect = dialect_of(connections[using])
        self._retry_delays_s = retry_delays_s
        self._is_down = False
        self._last_try: Appended | None = None
        self._last_size, self._last_waited_s = 0, 0.0
        self._checkpointer: WalCheckpointer | None = None
        if connections[using].vendor == "sqlite":
            self._checkpointer = WalCheckpointer(using)

    @property
    def window_s(self) -> float:
        """Return how long to gather batches before the next commit."""
        return window_after(self._last_size, self._last_waited_s)

    def close(self) -> None:
        """Close the connection; call it in the thread that committed."""
        connections[self._using].close()
        if self._checkpointer:
            self._checkpointer.close()

    def refuse(self, group: Iterable[Pending], cause: Exception | None = None) -> None:
        """Tell everybody of `group` that nothing of it is stored."""
        results: list[tuple[Pending, Result]] = []
        for pending in group:
            error = LedgerUnavailable("the ledger's database is away", retry_after_s=5)
            error.__cause__ = cause
            results.append((pending, error))
        self._tell(results)

    def commit(self, group: list[Pending]) -> None:
        """Write `group` and tell everybody."""
        self._last_size = len(group)
        try:
            seqs = self._write_durably([pending.batch for pending in group])
        except (StaleWrite, DatabaseError, ValueError, OverflowError) as exc:
            if _is_outage(exc):
                self.refuse(group, exc)
            elif len(group) == 1:
                self._tell([(group[0], exc)])
            else:
                # Halving finds the guilty batch among n in 2 log n commits.
                middle = len(group) // 2
                self.commit(group[:middle])
                self.commit(group[middle:])
        else:
            self._tell(zip(group, map(list, seqs), strict=True))
            if self._checkpointer:
                self._checkpointer.notice_commit()

    def _write_durably(self, batches: list[PreparedBatch]) -> list[range]:
        """Commit, trying again while the database is away, but not for ever."""
        self._last_try = None
        delays_s = iter(() if self._is_down else self._retry_delays_s)
        give_up_at = time.monotonic() + RETRY_FOR_S
        while True:
            try:
                seqs = self._try(batches)
            except (DatabaseError, InterfaceError) as exc:
                if not _is_outage(exc):
                    self._is_down = False
                    raise
                if connections[self._using].connection is not None:
                    # It broke at work. If this process stood still until then, that is
                    # no time for which the database was away.
                    give_up_at = time.monotonic() + RETRY_FOR_S
                connections[self._using].close()
                delay_s = next(delays_s, None)
                is_late = time.monotonic() > give_up_at
                if delay_s is None or is_late:
                    self._is_down = True
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
        with _transaction(connection):
            self._last_try = append(connection, batches)
        self._last_waited_s = self._last_try.waited_s
        return self._last_try.seqs

    def _connect(self) -> BaseDatabaseWrapper:
        connection = connections[self._using]
        if connection.connection is None:
            connection.ensure_connection()
            if connection.vendor == "sqlite":
                _set_up_sqlite(connection)
        return connection

    def _was_committed(self, connection: BaseDatabaseWrapper, last: Appended) -> bool:
        """Say whether a try was stored although the connection broke in its commit.

        A holder of the head's lock may still commit, so take the lock first.
        """
        team_id, seq, entry_hash = last.first
        with _transaction(connection) as cursor:
            lock_heads(cursor, self._dialect, [team_id])
            cursor.execute(
                self._dialect.marked(
                    "SELECT 1 FROM audit_entry "
                    "WHERE team_id = %s AND seq = %s AND hash = %s"
                ),
                (self._dialect.adapt(team_id), seq, entry_hash),
            )
            return cursor.fetchone() is not None


def window_after(size: int, waited_s: float) -> float:
    """Return for how long to gather batches after a commit of `size` batches.

    `waited_s`: how long it waited for other processes.
    """
    if waited_s >= MIN_LOCK_WAIT_S:
        return min(waited_s, MAX_WINDOW_S)
    return CROWD_WINDOW_S if size >= CROWD else 0.0


def _set_up_sqlite(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        # `_begin_sqlite` waits.
        cursor.execute("PRAGMA busy_timeout = 0")
        # FULL: a commit survives a power loss, as "durable" must mean.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA wal_autocheckpoint = 0")
        # 32 MiB: with many teams many pages are in use, 2 MiB would thrash.
        cursor.execute("PRAGMA cache_size = -32768")


@contextmanager
def _transaction(connection: BaseDatabaseWrapper) -> Iterator[Any]:
    """Hold a transaction, far quicker than Django's way; give a cursor of the driver.

    Only this thread uses the connection. If it broke, there is nothing to roll back.
    """
    with connection.wrap_database_errors, closing(connection.connection.cursor()) as c:
        if connection.vendor == "sqlite":
            _begin_sqlite(c)
        else:
            c.execute("BEGIN")
        try:
            yield c
            _commit(connection)
        except BaseException:
            with suppress(DatabaseError, InterfaceError):
                connection.rollback()
            raise


def _begin_sqlite(cursor: Any) -> None:
    """Begin to write as soon as nobody else does.

    SQLite's own way to wait looks ever more seldom, up to each 100 ms, and so lets
    others in before.
    """
    give_up_at = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as exc:
            is_busy = exc.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > give_up_at:
                raise
            time.sleep(LOCK_POLL_S)
        else:
            return


def _commit(connection: BaseDatabaseWrapper) -> None:
    connection.connection.commit()  # Django's own way takes 10 µs more


def _is_outage(exc: Exception) -> bool:
    """Say whether the database is to blame and not the statement."""
    if not is_outage(exc):
        return False
    code = getattr(exc.__cause__, "sqlite_errorcode", None)
    if code is not None:
        return bool(code & 0xFF != sqlite3.SQLITE_ERROR)
    state = getattr(exc.__cause__, "sqlstate", None)
    return state is None or not state.startswith(POSTGRESQL_PROGRAM_LIMIT)
