"""Lets the background work of a process give way to its requests.

Whatever nobody waits for runs in threads of `BackgroundWork`. Such a thread pauses
after each slice of SLICE_S of processor time: while a request is open so long that all
of them together have BUSY_SHARE of a core, else for a moment. Jobs are cut at their
steps, each of which is a short commit, and call `give_way` in long loops between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections

SLICE_S = 0.005
"""Processor time without a pause."""
BUSY_SHARE = 0.1
"""Share of a core for the background work of a process while a request is open."""
IDLE_SHARE = 0.8
"""Share of the time that each thread may use while none is."""
MIN_PAUSE_S = 0.001
"""After a commit, for other writers: SQLite lets in the next to ask, which would be the
next step."""
LOOK_S = 0.02
"""How soon a pause ends when the last request has been answered."""


class OpenRequests:
    """Counts the requests that this process is answering."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one for as long as the block takes. Only on the event loop."""
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


class BackgroundTime:
    """The processor time that background threads of a process may use together."""

    def __init__(
        self,
        requests: OpenRequests,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = requests
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = 0.0
        """When all that was used so far has been paid for."""

    def clear(self) -> None:
        """Forget what was used."""
        self._free_at = 0.0

    def spend(self, used_s: float) -> None:
        """Note what a slice has used."""
        with self._lock:
            due = max(self._clock(), self._free_at)
            self._free_at = due + used_s * (1 / BUSY_SHARE - 1)

    def debt_s(self) -> float:
        """Return for how long nobody should go on; 0 if no request is open."""
        if not self._requests.count:
            return 0.0
        return max(0.0, self._free_at - self._clock())


class BackgroundWork:
    """What one thread does in the background, slice by slice."""

    def __init__(
        self,
        wait: Callable[[float], bool],
        allowance: BackgroundTime | None = None,
        *,
        idle_share: float = IDLE_SHARE,
        used: Callable[[], float] = time.thread_time,
    ) -> None:
        """Take how to wait: it returns True once the thread is to end.

        `used` tells the processor time of the thread.
        """
        self._wait = wait
        self._allowance = allowance or background_time
        self._idle_pauses = 1 / idle_share - 1
        self._used = used
        self._begin_s = used()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Let `give_way` of this thread mean this work."""
        _thread.work = self
        self._begin_s = self._used()
        try:
            yield
        finally:
            _thread.work = None

    def step_done(self) -> bool:
        """Pause after a step; True: the thread is to end."""
        used_s = self._used() - self._begin_s
        self._allowance.spend(used_s)
        is_over = self._wait(max(MIN_PAUSE_S, used_s * self._idle_pauses))
        while not is_over and (debt_s := self._allowance.debt_s()):
            is_over = self._wait(min(debt_s, LOOK_S))
        self._begin_s = self._used()
        return is_over

    def slice_done(self) -> None:
        """Pause if it is time to. The end of the thread waits for the end of a step."""
        if self._used() - self._begin_s >= SLICE_S:
            self.step_done()


class _Thread(threading.local):
    work: BackgroundWork | None = None


open_requests = OpenRequests()
background_time = BackgroundTime(open_requests)
_thread = _Thread()


def give_way() -> None:
    """Pause if this is background work and has had its slice.

    Not in a transaction, whose locks others would wait for; anywhere else nothing
    happens.
    """
    work = _thread.work
    if work is not None and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        work.slice_done()
