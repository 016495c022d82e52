"""Hashes of a Merkle tree, and the tree of a growing list in at most 64 of them.

leaf = SHA-256(0x00 ‖ hash of the entry (32))
node = SHA-256(0x01 ‖ left (32) ‖ right (32))

Source: RFC 6962, section 2.1. The leaf data is the hash of the entry, which covers its
team, its seq and its bytes. This is a public contract like that of `chain.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

STEP = 8
"""Levels from one that is stored to the next; leaves have level 0."""
OnNode = Callable[[int, int, bytes], None]
"""Takes level, index and hash of a node."""
EMPTY_ROOT = sha256(b"").digest()
_LEAF = b"\x00"
_NODE = b"\x01"


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node with two children."""
    return sha256(_NODE + left + right).digest()


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over nodes of one level, whose number is a power of two."""
    level = list(hashes)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [node_hash(left, right) for left, right in pairs]
    return level[0]


def fold(peaks: Sequence[bytes]) -> bytes:
    """Return the root over perfect subtrees that get smaller from left to right."""
    if not peaks:
        return EMPTY_ROOT
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root


class CompactRange:
    """The tree of the leaves so far, as the roots of its perfect subtrees."""

    __slots__ = ("_on_node", "_peaks", "size")

    def __init__(self, on_node: OnNode | None = None) -> None:
        self.size = 0
        """Leaves so far."""
        self._peaks: list[bytes] = []
        self._on_node = on_node
        """Called with each node of a level that is stored, once it is complete."""

    def append(self, leaf: bytes) -> None:
        """Add the hash of the next leaf."""
        peaks, rest, level = self._peaks, self.size, 0
        while rest & 1:
            leaf = node_hash(peaks.pop(), leaf)
            rest >>= 1
            level += 1
            if level % STEP == 0 and self._on_node:
                self._on_node(level, self.size >> level, leaf)
        peaks.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root of the tree."""
        return fold(self._peaks)
