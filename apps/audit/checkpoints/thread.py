"""Makes and copies checkpoints in time, in a thread of each serving process.

An entry has its checkpoint, and that its copy, within 60 s: a look every 20 s, and one
that fails leaves time for the next. When the process ends in order, nothing is left.
"""

from __future__ import annotations

import logging
import threading

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.checkpoints.export import CheckpointExporter
from apps.audit.metrics import COPIES_FAILED

logger = logging.getLogger(__name__)

EVERY_S = 20.0
TAIL_S = 15.0
"""A tail is left alone for so long; then one checkpoint stands for all of it."""
TREE_PAGES = 16
"""Commits at most for each team's tree in one look: 262,144 entries of an old chain."""
END_S = 5.0
"""How long to wait for a last look; a disk may hang."""


class CheckpointThread:
    """The thread that does it."""

    def __init__(self) -> None:
        self._copier = CheckpointExporter()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="checkpoints", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Sign what has come since, and stop."""
        self._stop.set()
        self._thread.join(END_S)

    def look(self, *, older_than_s: float = 0.0) -> None:
        """Make the checkpoints that are due, and copy what is not copied."""
        try:
            checkpoints_create(older_than_s=older_than_s, max_pages=TREE_PAGES)
            self._copier.copy_all()
        except OSError as exc:
            COPIES_FAILED.add()
            logger.error("checkpoints are in the log alone: CHECKPOINT_DIR: %s", exc)
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("checkpoints: the database is away: %s", exc)
        except Exception:  # the boundary of a thread: the next look may do better
            logger.exception("checkpoints: not made this time")
        finally:
            connections[DEFAULT_DB_ALIAS].close()

    def _run(self) -> None:
        self.look(older_than_s=TAIL_S)  # what a process before has left
        while not self._stop.wait(EVERY_S):
            self.look(older_than_s=TAIL_S)
        self.look()
