"""Keeps SQLite's write-ahead log small without making the ledger wait.

A checkpoint copies the log into the database file and syncs both: milliseconds that
no waiter should pay for. So the writer's connection never does it; a thread does.
"""

from __future__ import annotations

import logging
import os
import threading

from django.db import OperationalError, connections

logger = logging.getLogger(__name__)

CHECKPOINT_BYTES = 4 << 20
"""SQLite's own habit: 1000 pages of 4 KiB."""
CAP_BYTES = 64 << 20
"""A log of this size is emptied even if writers have to wait for it."""


class WalCheckpointer:
    """A thread that copies the log of one SQLite database when it has grown."""

    def __init__(self, using: str) -> None:
        self._using = using
        self._path = f"{connections[using].settings_dict['NAME']}-wal"
        self._due = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(
            target=self._run, name="ledger-checkpoints", daemon=True
        )
        self._thread.start()

    def notice_commit(self) -> None:
        """Wake the thread if the log is large. Called after each commit."""
        if self._size() > CHECKPOINT_BYTES:
            self._due.set()

    def close(self) -> None:
        """Stop the thread."""
        self._is_closed = True
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        connection = connections[self._using]
        try:
            while self._due.wait() and not self._is_closed:
                self._due.clear()
                self._checkpoint()
        finally:
            connection.close()

    def _checkpoint(self) -> None:
        # PASSIVE waits for nobody; TRUNCATE for readers and writers, up to the timeout.
        mode = "TRUNCATE" if self._size() > CAP_BYTES else "PASSIVE"
        try:
            with connections[self._using].cursor() as cursor:
                cursor.execute(f"PRAGMA wal_checkpoint({mode})")
        except OperationalError as exc:
            logger.warning("write-ahead log was not checkpointed: %s", exc)

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except FileNotFoundError:
            return 0
