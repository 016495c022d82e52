"""The hash chain, as pure functions: how an entry and a body are hashed and checked.

entry hash = SHA-256(0x00 ‖ team (16) ‖ seq (8, big endian) ‖ previous (32) ‖ JSON)
body digest = SHA-256(0x01 ‖ salt (16) ‖ UTF-8 text)

Both are stored as `sha256:` and 64 hexadecimal digits. The first entry has seq 1 and
32 zero bytes before it. This is a public contract: an auditor checks exports by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from struct import Struct
from typing import NamedTuple
from uuid import UUID

ALGORITHM = "sha256:"
GENESIS = bytes(32)
SALT_BYTES = 16
_ENTRY = b"\x00"
_BODY = b"\x01"
_PLACE = Struct(">c16sQ32s")


class FaultKind(StrEnum):
    """What is wrong at a place of a chain."""

    SEQUENCE_GAP = "sequence_gap"
    """The entry that belongs here is missing."""
    SEQUENCE_REPEATED = "sequence_repeated"
    """An entry comes a second time."""
    HASH_MISMATCH = "hash_mismatch"
    """The hash does not follow from the entry and the one before it."""
    NOT_CANONICAL = "not_canonical"
    """The bytes are no canonical entry."""
    COLUMN_CHANGED = "column_changed"
    """A column says something else than the hashed bytes."""
    TAIL_MISSING = "tail_missing"
    """The head, or a signed checkpoint, knows of an entry here; it is gone."""
    HEAD_MISSING = "head_missing"
    """There are entries and no head."""
    HEAD_CHANGED = "head_changed"
    """The head's hash is not that of the entry it points to."""
    HEAD_BEHIND = "head_behind"
    """An entry the head has never known of."""
    REWRITTEN = "rewritten"
    """A signed checkpoint says another hash: the chain was made anew until here."""
    CHECKPOINT_FORGED = "checkpoint_forged"
    """The signature of a checkpoint is not that of the key it names."""
    CHECKPOINT_KEY_UNKNOWN = "checkpoint_key_unknown"
    """A checkpoint names a key that is not ours, or gone."""
    CHECKPOINT_MISSING = "checkpoint_missing"
    """The database has no checkpoint where a genuine copy of one exists."""
    TREE_MISMATCH = "tree_mismatch"
    """A signed root, or a stored node of the tree, does not follow from the entries."""
    MAC_MISSING = "mac_missing"
    """An entry, or the head, has no code: it was not written with the key."""
    MAC_FORGED = "mac_forged"
    """The code of an entry, or of the head, is not that of the key it names."""
    MAC_KEY_UNKNOWN = "mac_key_unknown"
    """The code of an entry, or of the head, names a key that is not ours, or gone."""
    CONTENT_MISSING = "content_missing"
    """A body is gone, and no entry of the site's says that it was erased."""
    CONTENT_CHANGED = "content_changed"
    """A body, its salt or its length is another than the digest says."""
    CONTENT_UNREADABLE = "content_unreadable"
    """A body does not open: changed, moved, or its encryption key is gone."""


class Position(NamedTuple):
    """A place in a chain: the last entry that has been accepted."""

    seq: int
    hash: bytes


START = Position(0, GENESIS)


class Link(NamedTuple):
    """What of an entry is needed to check its place."""

    seq: int
    canonical: bytes
    hash: str


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first place where a chain does not hold."""

    seq: int
    kind: FaultKind
    detail: str


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """How far a chain holds."""

    end: Position
    fault: ChainFault | None = None


def entry_hash(team_id: UUID, seq: int, previous: bytes, canonical: bytes) -> bytes:
    """Return the hash of the entry at `seq`."""
    place = _PLACE.pack(_ENTRY, team_id.bytes, seq, previous)
    return sha256(place + canonical).digest()


def body_digest(salt: bytes, text: bytes) -> bytes:
    """Return the digest that stands for a body in the chain."""
    return sha256(_BODY + salt + text).digest()


def tagged(digest: bytes) -> str:
    """Return a digest as it is stored: algorithm and hexadecimal digits."""
    return ALGORITHM + digest.hex()


def untagged(text: str) -> bytes:
    """Return the bytes of a stored digest. Raises: ValueError."""
    digest = bytes.fromhex(text.removeprefix(ALGORITHM))
    if tagged(digest) != text or len(digest) != len(GENESIS):
        raise ValueError(f"not a digest: {text!r}")
    return digest


def verify_chain(
    team_id: UUID, links: Iterable[Link], *, start: Position = START
) -> ChainCheck:
    """Check that `links` follow `start` without a gap; stop at the first fault.

    Reads one link at a time, so a chain of any length needs no memory.
    """
    seq, previous = start
    for link in links:
        seq += 1
        if link.seq != seq:
            kind = FaultKind.SEQUENCE_GAP
            if link.seq < seq:
                kind, seq = FaultKind.SEQUENCE_REPEATED, link.seq
            detail = f"entry {link.seq} follows entry {start.seq}"
            return ChainCheck(start, ChainFault(seq, kind, detail))
        previous = entry_hash(team_id, seq, previous, link.canonical)
        if tagged(previous) != link.hash:
            detail = f"stored {link.hash!r}, derived {tagged(previous)!r}"
            fault = ChainFault(seq, FaultKind.HASH_MISMATCH, detail)
            return ChainCheck(start, fault)
        start = Position(seq, previous)
    return ChainCheck(start)
