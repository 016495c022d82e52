"""Keeps SQLite's write-ahead log small without making the ledger wait.

A checkpoint copies the log into the database file and syncs both: milliseconds that
no waiter should pay for. So the writer's connection never does it; a thread does.
"""

from __future__ import annotations

import logging
import threading

from django.db import OperationalError, connections

logger = logging.getLogger(__name__)

INTERVAL_S = 0.1
"""Often enough that no single copy holds up the disk for long."""
CAP_BYTES = 32 << 20
"""A log of this size is begun anew, even if writers have to wait for it. The file keeps
its size: to write over it is a third quicker than to make it longer."""
FRAME_BYTES = 4096 + 24
"""A page and what goes before it. Source: sqlite.org/fileformat2.html, section 4.1."""


class WalCheckpointer:
    """A thread that copies the log of one SQLite database while it is written to."""

    def __init__(self, using: str, *, cap_bytes: int = CAP_BYTES) -> None:
        self._using = using
        self._cap_bytes = cap_bytes
        self._has_commits = False
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="ledger-checkpoints", daemon=True
        )
        self._thread.start()

    def notice_commit(self) -> None:
        """Tell that there is something to copy."""
        self._has_commits = True

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        self._thread.join()

    def checkpoint(self) -> None:
        """Copy what the log holds; begin it anew if it has outgrown the cap."""
        try:
            with connections[self._using].cursor() as cursor:
                # Waits for nobody, so under load it never quite reaches the end.
                cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
                _, frames, _ = cursor.fetchone()
                if frames * FRAME_BYTES > self._cap_bytes:
                    # Holds up writers, but only for what has come since.
                    cursor.execute("PRAGMA wal_checkpoint(RESTART)")
        except OperationalError as exc:
            logger.warning("write-ahead log was not checkpointed: %s", exc)

    def _run(self) -> None:
        connection = connections[self._using]
        try:
            while not self._stop.wait(INTERVAL_S):
                if self._has_commits:
                    self._has_commits = False
                    self.checkpoint()
        finally:
            connection.close()
