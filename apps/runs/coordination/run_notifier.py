"""Notifies worker processes of new runs, without blocking on the broker.

A client of a broker that is down retries for seconds. So one thread publishes, and
other code only queues ids. Notices that cannot be sent are dropped: worker processes
look for runs every few seconds anyway.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from queue import Empty, Full, Queue

from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)
MAX_WAITING = 1_000
"""More is not kept for a broker that does not answer."""


class RunNotifier:
    """Sends notices of runs in order, from a thread of its own."""

    def __init__(self, tell: Callable[[uuid.UUID], object]) -> None:
        """`tell` may block; it raises OperationalError if the broker is unreachable."""
        self._tell = tell
        self._waiting: Queue[uuid.UUID] = Queue(MAX_WAITING)
        self._is_heard = True
        self._thread = threading.Thread(
            target=self._run, name="run-notifier", daemon=True
        )
        self._thread.start()

    def wake(self, run_id: uuid.UUID) -> None:
        """Queue a notice of a run. Never blocks, never raises."""
        try:
            self._waiting.put_nowait(run_id)
        except Full:
            logger.debug("run %s is left to the sweeps", run_id)

    def settle(self) -> None:
        """Wait until every notice has been sent or dropped."""
        self._waiting.join()

    def _run(self) -> None:
        while True:
            self._tell_of(self._waiting.get())
            self._waiting.task_done()

    def _tell_of(self, run_id: uuid.UUID) -> None:
        try:
            self._tell(run_id)
        except OperationalError as exc:
            if self._is_heard:
                logger.warning(
                    "the broker is unreachable; sweeps will find runs: %s", exc
                )
            self._is_heard = False
            self._forget()
        except Exception:  # the boundary: the next notice is sent all the same
            logger.exception("could not notify a worker process of run %s", run_id)
        else:
            if not self._is_heard:
                logger.warning("the broker is reachable again")
            self._is_heard = True

    def _forget(self) -> None:
        """Drop what waits: by the time the broker is back it will be old news."""
        try:
            while True:
                self._waiting.get_nowait()
                self._waiting.task_done()
        except Empty:
            return
