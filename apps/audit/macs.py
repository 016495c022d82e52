"""Message authentication codes, which only a process with the key can write.

entry:  key id (8) ‖ HMAC-SHA-256(key, 0x02 ‖ entry hash (32))
head:   key id (8) ‖ HMAC-SHA-256(key, 0x03 ‖ team (16) ‖ seq (8) ‖ entry hash (32)
                                       ‖ first entry that has a code (8))

Numbers are big endian. The hash of an entry covers its team, its place and the whole
chain before it, so its code does too, and fits nowhere else. The code of a head says
more: that every commit since the first one with codes found the head before it right.
A commit on a head that is not right leaves it without a code.

The key is derived from an encryption key; its id is the first 8 bytes of its SHA-256.
The first encryption key makes codes, all of them verify. This is a contract like that
of `chain.py`, but not a public one: whoever can check a code can make one.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from apps.audit.chain import FaultKind, Position
from apps.core.hmacs import HmacSha256
from apps.core.keyring import derived_secrets

PURPOSE = b"conductor.audit.mac.hmac-sha256.v1"
KEY_ID_BYTES = 8
NO_MAC = b""
"""Of a head that cannot have a code, and of entries from before there were any."""
DETAILS: Mapping[FaultKind, str] = {
    FaultKind.MAC_MISSING: "it was not written with the site's key",
    FaultKind.MAC_FORGED: "the key that it names makes another code",
    FaultKind.MAC_KEY_UNKNOWN: "none of CONDUCTOR_ENCRYPTION_KEYS makes such codes",
}
"""What a wrong code means."""
_ENTRY = b"\x02"
_OF_HEAD = b"\x03"
_HEAD = Struct(">c16sq32sq")


class MacKey:
    """A key that makes and checks codes."""

    __slots__ = ("_hmac", "id")

    def __init__(self, secret: bytes) -> None:
        self.id = sha256(secret).digest()[:KEY_ID_BYTES]
        self._hmac = HmacSha256(secret)

    def mac(self, message: bytes) -> bytes:
        """Return the code of a message."""
        return self.id + self._hmac.digest(message)

    def entry_mac(self, entry_hash: bytes) -> bytes:
        """Return the code of an entry."""
        return self.mac(_ENTRY + entry_hash)


class Head(NamedTuple):
    """The end of a chain as its row holds it: after tampering, with anything in it."""

    end: Position
    mac_from: int
    """The first entry that must have a code; those before are of an older version."""
    mac: bytes


def mac_key() -> MacKey:
    """Return the key that makes codes now."""
    return next(iter(_keys(tuple(settings.ENCRYPTION_KEYS)).values()))


def head_mac(key: MacKey, team_id: UUID, end: Position, mac_from: int) -> bytes:
    """Return the code of a head."""
    return key.mac(_head_message(team_id, end, mac_from))


def head_fault(team_id: UUID, head: Head) -> FaultKind | None:
    """Say what is wrong with the code of a head; None: it is right."""
    return _fault(head.mac, _head_message(team_id, head.end, head.mac_from))


def entry_fault(mac: bytes, entry_hash: bytes) -> FaultKind | None:
    """Say what is wrong with the code of an entry; None: it is right."""
    return _fault(mac, _ENTRY + entry_hash)


def _head_message(team_id: UUID, end: Position, mac_from: int) -> bytes:
    return _HEAD.pack(_OF_HEAD, team_id.bytes, end.seq, end.hash, mac_from)


def _fault(mac: bytes, message: bytes) -> FaultKind | None:
    if not mac:
        return FaultKind.MAC_MISSING
    key = _keys(tuple(settings.ENCRYPTION_KEYS)).get(mac[:KEY_ID_BYTES])
    if key is None:
        return FaultKind.MAC_KEY_UNKNOWN
    if not hmac.compare_digest(key.mac(message), mac):
        return FaultKind.MAC_FORGED
    return None


@lru_cache(maxsize=4)
def _keys(specs: tuple[str, ...]) -> Mapping[bytes, MacKey]:
    """Return the keys by id; `specs` are what they are remembered by."""
    keys = map(MacKey, derived_secrets(PURPOSE))
    return {key.id: key for key in keys}
