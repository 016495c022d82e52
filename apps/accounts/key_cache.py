"""Recently resolved API keys of this process, so that a busy key costs no query.

Guarantees: an entry lives at most `CACHE_SECONDS` and never past its key's expiry; a
dropped key is not answered again, not even if it was being read when it was dropped.
Safe to use from several threads and from the event loop. Holds digests, never keys.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from apps.accounts.types import KeyHolder

CACHE_SECONDS = 5.0
"""How long a revocation in another process can take to be felt here."""
MAX_ENTRIES = 10_000
"""More live keys than one process serves; a bound on memory, not a target."""


class KeyCache:
    """Maps digests of keys to their holders for a few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[float, KeyHolder]] = {}
        self._generation = 0

    @property
    def generation(self) -> int:
        """Return a number that grows with every drop; read it before the query."""
        return self._generation

    def get(self, digest: str) -> KeyHolder | None:
        """Return the holder if it is still fresh."""
        entry = self._entries.get(digest)
        if entry is None or entry[0] <= self._clock():
            return None
        return entry[1]

    def put(
        self, digest: str, holder: KeyHolder, *, lifetime_s: float, generation: int
    ) -> None:
        """Keep `holder`, unless a key was dropped since `generation` was read."""
        if generation != self._generation:
            return
        if len(self._entries) >= MAX_ENTRIES:
            self._entries.clear()
        good_until = self._clock() + min(CACHE_SECONDS, lifetime_s)
        self._entries[digest] = (good_until, holder)

    def drop(self, key_id: uuid.UUID) -> None:
        """Forget a key at once."""
        self._generation += 1
        for digest, (_, holder) in list(self._entries.items()):
            if holder.key_id == key_id:
                self._entries.pop(digest, None)

    def clear(self) -> None:
        """Forget everything."""
        self._generation += 1
        self._entries.clear()
