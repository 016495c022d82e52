"""Inclusion and consistency proofs of Merkle trees: making and checking them.

A proof is a list of hashes, those next to the leaf first. A span is the leaves from
`begin` up to, and without, `end`; `HashOfSpan` returns the root of the tree over them.
Source: RFC 6962, sections 2.1.1 and 2.1.2; RFC 9162, sections 2.1.3.2 and 2.1.4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apps.audit.merkle.hashing import node_hash

HashOfSpan = Callable[[int, int], bytes]
_Span = tuple[int, int]


def inclusion_proof(index: int, size: int, hash_of: HashOfSpan) -> list[bytes]:
    """Return the proof that the leaf at `index` is in the tree of `size` leaves.

    Raises: ValueError if it is not.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has none at {index}")
    return [hash_of(*span) for span in _inclusion_spans(index, size)]


def consistency_proof(old: int, new: int, hash_of: HashOfSpan) -> list[bytes]:
    """Return the proof that the tree of `new` leaves begins with that of `old`.

    Raises: ValueError if it cannot.
    """
    if not 0 < old <= new:
        raise ValueError(f"a tree of {new} leaves cannot begin with {old}")
    return [hash_of(*span) for span in _consistency_spans(old, new)]


def is_included(
    leaf: bytes, index: int, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Say whether a proof shows that `leaf` is the hash of the leaf at `index`."""
    if not 0 <= index < size:
        return False
    place, last = index, size - 1
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            leaf = node_hash(sibling, leaf)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            leaf = node_hash(leaf, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and leaf == root


def is_consistent(
    old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Say whether a proof shows that the second tree begins with the first one."""
    if old == new:
        return not proof and old_root == new_root
    if not 0 < old < new:
        return False
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        return False
    return _rebuilt(old - 1, new - 1, path) == (old_root, new_root)


def _rebuilt(place: int, last: int, path: list[bytes]) -> tuple[bytes, bytes] | None:
    """Return both roots that follow from a path; None if its length is wrong."""
    while place & 1:
        place, last = place >> 1, last >> 1
    first = second = path[0]
    for sibling in path[1:]:
        if last == 0:
            return None
        if place & 1 or place == last:
            first = node_hash(sibling, first)
            second = node_hash(sibling, second)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            second = node_hash(second, sibling)
        place, last = place >> 1, last >> 1
    return (first, second) if last == 0 else None


def _inclusion_spans(index: int, size: int) -> list[_Span]:
    begin, end = 0, size
    spans = []
    while end - begin > 1:
        middle = begin + _left_leaves(end - begin)
        if index < middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((begin, middle))
            begin = middle
    return spans[::-1]


def _consistency_spans(old: int, new: int) -> list[_Span]:
    begin, end = 0, new
    spans = []
    while old < end:
        middle = begin + _left_leaves(end - begin)
        if old <= middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((begin, middle))
            begin = middle
    if begin:
        spans.append((begin, end))
    return spans[::-1]


def _left_leaves(leaves: int) -> int:
    """Return the leaves of a root's left child: a power of two below `leaves`."""
    return 1 << (leaves - 1).bit_length() - 1
