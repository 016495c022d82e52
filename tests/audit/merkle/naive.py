"""The Merkle tree as RFC 6962 writes it down: recursive and slow."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256


def root(data: Sequence[bytes]) -> bytes:
    """MTH of section 2.1."""
    if not data:
        return sha256(b"").digest()
    if len(data) == 1:
        return sha256(b"\x00" + data[0]).digest()
    k = split(len(data))
    return sha256(b"\x01" + root(data[:k]) + root(data[k:])).digest()


def path(m: int, data: Sequence[bytes]) -> list[bytes]:
    """PATH of section 2.1.1."""
    if len(data) == 1:
        return []
    k = split(len(data))
    if m < k:
        return [*path(m, data[:k]), root(data[k:])]
    return [*path(m - k, data[k:]), root(data[:k])]


def subproof(m: int, data: Sequence[bytes], is_whole: bool) -> list[bytes]:
    """SUBPROOF of section 2.1.2."""
    if m == len(data):
        return [] if is_whole else [root(data)]
    k = split(len(data))
    if m <= k:
        return [*subproof(m, data[:k], is_whole), root(data[k:])]
    return [*subproof(m - k, data[k:], False), root(data[:k])]


def split(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k
