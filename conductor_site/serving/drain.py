"""Stops a web process: first it gets no more work, then it ends what it has.

`notice_s` after it was asked to stop it goes on as before, except that `/readyz` says
no and every answer closes its connection, so that proxies go elsewhere. Then, for at
most `drain_s`, what is open may end.
"""

from __future__ import annotations

import time

LOOK_S = 0.1
"""How soon a second signal is seen."""


class Drain:
    """Where one process is on its way out. Times are of the monotonic clock."""

    def __init__(self) -> None:
        self.is_hurried = False
        """True: nothing more is waited for."""
        self._quits_at: float | None = None
        self._ends_at = 0.0

    @property
    def has_begun(self) -> bool:
        """Say whether the process has been asked to stop."""
        return self._quits_at is not None

    @property
    def is_noticed(self) -> bool:
        """Say whether it has been giving notice for long enough."""
        return self._quits_at is not None and time.monotonic() >= self._quits_at

    @property
    def rest_s(self) -> float:
        """Return how long what is open may still take; 0 if it never began."""
        return max(0.0, self._ends_at - time.monotonic()) if self.has_begun else 0.0

    def begin(self, *, notice_s: float, drain_s: float) -> None:
        """Note that the process was asked to stop; a second time changes nothing."""
        if self._quits_at is None:
            self._quits_at = time.monotonic() + notice_s
            self._ends_at = self._quits_at + drain_s

    def hurry(self) -> None:
        """Give no more notice, and wait for nothing."""
        self.is_hurried = True
        self._quits_at = self._ends_at = time.monotonic()


drain = Drain()
"""This process's."""
