"""Public identifiers."""

from __future__ import annotations

import os
import time
import uuid


def new_id() -> uuid.UUID:
    """Return a new UUID of version 7: unique, and ascending with time.

    Ascending ids keep inserts at the end of an index, which a random UUID would not.
    Source: RFC 9562, section 5.7.
    """
    milliseconds = time.time_ns() // 1_000_000
    random_bits = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | random_bits
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
