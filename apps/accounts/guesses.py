"""Limits the unknown API keys that one address may try.

Guarantees: only requests whose key is unknown or malformed are counted and refused
here, so valid keys from the same address, behind a NAT or a proxy, work as ever. Memory
is bounded: beyond MAX_ADDRESSES the one that began first is forgotten. Each process
counts for itself.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from django.conf import settings

from apps.accounts.errors import TooManyGuesses
from apps.core.requesters import network_of

WINDOW_S = 60.0
MAX_ADDRESSES = 10_000


class Guesses:
    """Counts by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """By network: when its window began, and guesses since. Oldest first."""
        self._lock = Lock()

    def note(self, address: str) -> None:
        """Count one unknown key. Raises: TooManyGuesses beyond the limit."""
        limit = settings.UNKNOWN_KEYS_PER_MINUTE
        network, now = network_of(address), self._clock()
        with self._lock:
            began, count = self._windows.get(network, (now, 0))
            if now - began >= WINDOW_S:
                del self._windows[network]
                began, count = now, 0
            self._windows[network] = (began, count + 1)
            if len(self._windows) > MAX_ADDRESSES:
                self._windows.popitem(last=False)
        if limit and count >= limit:
            wait_s = math.ceil(began + WINDOW_S - now)
            raise TooManyGuesses(
                f"more than {limit} API keys that are not known here came from your "
                f"address within a minute; check the key, then try again in {wait_s} s",
                retry_after_s=wait_s,
            )

    def clear(self) -> None:
        """Forget everything, as a restart would."""
        with self._lock:
            self._windows.clear()

    def __len__(self) -> int:
        return len(self._windows)


guesses = Guesses()
"""This process's."""
