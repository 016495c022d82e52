"""Ends a process that was asked to stop and cannot, because something does not answer.

A database that is away, or silent, may hold up the threads that wait for it for longer
than any supervisor waits. Nothing is lost then: others go on with the runs once the
lease has run out, as after a kill.
"""

from __future__ import annotations

import logging
import os
import threading

logger = logging.getLogger(__name__)

CLOSE_S = 8.0
"""Longest a process takes to close once its drain is over."""


def end_within(seconds: float) -> None:
    """Let this process end in so many seconds, whatever it is doing then."""
    timer = threading.Timer(seconds, _end)
    timer.daemon = True
    timer.start()


def _end() -> None:
    logger.error("this process could not close in time; others take up its runs")
    os._exit(1)
