"""Takes tasks from the broker, in a thread beside the process's event loop.

It waits only for the broker, and nothing waits for it: when the broker is down Celery
retries, and if Celery itself gives up it is started anew.
"""

from __future__ import annotations

import logging
import threading

from celery.worker import state

from conductor_site.celery import app

logger = logging.getLogger(__name__)
AGAIN_S = 5.0
"""Until Celery is started anew."""
CHATTERERS = ("celery.worker.strategy", "celery.app.trace")
"""They say at INFO that a task came and went; what became of the run is said anyway."""
END_S = 3.0
"""How long to wait for the task in hand. Then the thread ends with the process."""


class CeleryConsumer:
    """The thread in which Celery's worker runs, and tasks with it."""

    def __init__(self) -> None:
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Say whether it still takes tasks, or has one in hand."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to take tasks."""
        app.finalize()
        for name in CHATTERERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._thread.start()

    def stop(self) -> None:
        """Take no more tasks; returns at once."""
        self._is_stopping.set()
        state.should_stop = 0  # the exit status; None: no stop

    def join(self) -> None:
        """Wait for the task in hand, for at most `END_S`."""
        if self.is_alive:
            self._thread.join(END_S)

    def _run(self) -> None:
        # A task only hands over, so it needs no thread or process of its own.
        while not self._is_stopping.is_set():
            worker = app.WorkController(
                pool="solo",
                concurrency=1,
                without_gossip=True,
                without_mingle=True,
                without_heartbeat=True,
            )
            worker.start()
            if not self._is_stopping.wait(AGAIN_S):
                logger.error("tasks: Celery's worker ended; starting another one")
