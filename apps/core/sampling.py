"""Samples that anyone can work out again, and nobody can choose."""

from __future__ import annotations

import hashlib

HASH_BYTES = 4


def is_sampled(data: bytes, percent: int) -> bool:
    """Say whether something belongs to a share, by the bytes that identify it.

    The first four bytes of their SHA-256, as a fraction of the range, lie below the
    share.
    """
    digest: bytes = hashlib.sha256(data).digest()[:HASH_BYTES]
    return int.from_bytes(digest) * 100 < percent << 8 * HASH_BYTES
