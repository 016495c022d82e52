"""Recently read values of this process, so that a busy reader costs no query.

Guarantees: a value lives at most its lifetime; a dropped one is not answered again, not
even if it was being read when it was dropped. Safe to use from several threads and from
the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

CACHE_SECONDS = 5.0
"""How long a change made in another process can take to be felt here."""
MAX_ENTRIES = 10_000
"""A bound on memory, not a target."""


class TtlCache(Generic[KeyT, ValueT]):
    """Remembers values for a few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[KeyT, tuple[float, ValueT]] = {}
        self._generation = 0

    @property
    def generation(self) -> int:
        """Return a number that grows with every drop; read it before the query."""
        return self._generation

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value if it is still fresh."""
        entry = self._entries.get(key)
        if entry is None or entry[0] <= self._clock():
            return None
        return entry[1]

    def put(
        self,
        key: KeyT,
        value: ValueT,
        *,
        generation: int,
        lifetime_s: float = CACHE_SECONDS,
    ) -> None:
        """Keep `value`, unless something was dropped since `generation` was read."""
        if generation != self._generation:
            return
        if len(self._entries) >= MAX_ENTRIES:
            self._entries.clear()
        good_until = self._clock() + min(CACHE_SECONDS, lifetime_s)
        self._entries[key] = (good_until, value)

    def drop(self, matches: Callable[[KeyT, ValueT], bool]) -> None:
        """Forget at once what matches."""
        self._generation += 1
        for key, (_, value) in list(self._entries.items()):
            if matches(key, value):
                self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self.drop(lambda key, value: True)
