"""Recent pool snapshots of this process, so that a busy pool costs no query.

Guarantees: an entry lives at most `CACHE_SECONDS`; a dropped team's entries are not
answered again, not even one that was being read when it was dropped. Safe to use from
several threads and from the event loop.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from apps.pools.types import PoolSnapshot

CACHE_SECONDS = 5.0
"""How long a change made in another process can take to be felt here."""
MAX_ENTRIES = 10_000

Key = tuple[uuid.UUID, str | None]
"""Team and name of the pool; None: the team's default."""


class SnapshotCache:
    """Maps pools to their snapshots for a few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[Key, tuple[float, PoolSnapshot]] = {}
        self._generation = 0

    @property
    def generation(self) -> int:
        """Return a number that grows with every drop; read it before the queries."""
        return self._generation

    def get(self, key: Key) -> PoolSnapshot | None:
        """Return the snapshot if it is still fresh."""
        entry = self._entries.get(key)
        if entry is None or entry[0] <= self._clock():
            return None
        return entry[1]

    def put(self, key: Key, snapshot: PoolSnapshot, *, generation: int) -> None:
        """Keep `snapshot`, unless a team was dropped since `generation` was read."""
        if generation != self._generation:
            return
        if len(self._entries) >= MAX_ENTRIES:
            self._entries.clear()
        self._entries[key] = (self._clock() + CACHE_SECONDS, snapshot)

    def drop(self, team_id: uuid.UUID) -> None:
        """Forget all pools of a team at once."""
        self._generation += 1
        for key in list(self._entries):
            if key[0] == team_id:
                self._entries.pop(key, None)


snapshots = SnapshotCache()
"""The cache of this process."""
