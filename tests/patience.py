"""How tests wait for what must happen and sends no signal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 180
"""Far longer than anything takes on a slow machine: only a fault takes so long."""
SHORTEST_S, LONGEST_S = 0.01, 0.1
T = TypeVar("T")


def eventually(is_so: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Look until something is so; say whether it ever was."""
    pause, begin = threading.Event(), time.monotonic()
    while not is_so():
        waited = time.monotonic() - begin
        if waited > patience_s:
            return False
        # The longer it takes, the less often: looking takes time from what is awaited.
        pause.wait(min(max(waited / 10, SHORTEST_S), LONGEST_S))
    return True


def awaited(look: Callable[[], T | None]) -> T:
    """Look until there is something, and return it. Raises: AssertionError."""
    found: list[T] = []

    def is_there() -> bool:
        if (seen := look()) is not None:
            found.append(seen)
        return bool(found)

    assert eventually(is_there), "it did not come"
    return found[0]
