"""Public identifiers: UUIDs of version 7, ascending within a process.

Ascending ids keep inserts at the end of an index, which random ones would not.
Source: RFC 9562, sections 5.7 and 6.2 (method 1, a counter in `rand_a`).
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import uuid
from datetime import datetime

COUNTER_BITS = 12
SAMPLE_BYTES = 4
"""Of a hash, to draw a sample by."""
BUFFERED = 128
"""Random words fetched at once: asking the system for each costs a third more."""


class _Sequence:
    """Hands out ids. Thread-safe, but of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place = 0
        """Milliseconds, then the counter: a full counter borrows from the future."""
        self._words: list[int] = []

    def next(self) -> uuid.UUID:
        now = time.time_ns() // 1_000_000 << COUNTER_BITS
        with self._lock:
            if not self._words:
                self._words = list(memoryview(os.urandom(8 * BUFFERED)).cast("Q"))
            word = self._words.pop()
            # Not below the last one either, should the clock be set back.
            self._place = place = max(now, self._place + 1)
        milliseconds, counter = place >> COUNTER_BITS, place & 0xFFF
        high = (milliseconds & 0xFFFF_FFFF_FFFF) << 16 | 0x7 << 12 | counter
        return uuid.UUID(int=high << 64 | 0x2 << 62 | word >> 2)


_sequence = _Sequence()


def begin_anew() -> None:
    """Forget the ids made so far: those to come ascend from the present on."""
    global _sequence
    _sequence = _Sequence()


# A forked child would hand out its parent's random words, or wait for its lock.
os.register_at_fork(after_in_child=begin_anew)


def new_id() -> uuid.UUID:
    """Return a new UUID: unique, and above all that this process got before."""
    return _sequence.next()


def first_id(at: datetime) -> uuid.UUID:
    """Return the least id of a moment: none made from then on is below it."""
    milliseconds = max(0, int(at.timestamp() * 1000))
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62)


def is_sampled(data: bytes, percent: int) -> bool:
    """Say whether something belongs to a share, by the bytes of what identifies it.

    The first four bytes of their SHA-256, as a fraction of the range, lie below the
    share: so anyone can work it out again, and nobody can choose it.
    """
    digest: bytes = hashlib.sha256(data).digest()[:SAMPLE_BYTES]
    return int.from_bytes(digest) * 100 < percent << 8 * SAMPLE_BYTES
