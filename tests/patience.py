"""How tests wait for what must happen and sends no signal.

What does not come in PATIENCE_S hangs. Then all threads are shown where they stand.
"""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 30
"""Far longer than anything takes on a slow machine: only a fault takes so long."""
WORK_PATIENCE_S = 10 * PATIENCE_S
"""For what takes ten seconds on an idle machine: a training, hundreds of runs."""
STDERR = 2
MIN_INTERVAL_S, MAX_INTERVAL_S = 0.01, 0.1
T = TypeVar("T")


def eventually(is_so: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Look until something is so; return whether it ever was."""
    pause, begin = threading.Event(), time.monotonic()
    while not is_so():
        waited_s = time.monotonic() - begin
        if waited_s > patience_s:
            faulthandler.dump_traceback(STDERR)
            return False
        # The longer it takes, the less often: looking takes time from what is awaited.
        pause.wait(min(max(waited_s / 10, MIN_INTERVAL_S), MAX_INTERVAL_S))
    return True


def awaited(look: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
    """Look until there is something, and return it. Raises: AssertionError."""
    values: list[T] = []

    def is_there() -> bool:
        if (value := look()) is not None:
            values.append(value)
        return bool(values)

    assert eventually(is_there, patience_s), f"nothing came within {patience_s} s"
    return values[0]
