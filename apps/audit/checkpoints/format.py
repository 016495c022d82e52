"""Signed checkpoints, as pure values: what is signed, and the line that is copied.

A checkpoint says: at this moment the chain of this team ended with this entry. Signed
are these seven lines, each with a newline, in ASCII:

    conductor ledger checkpoint
    v1
    <team: UUID with dashes, in small letters>
    <seq: decimal>
    <hash of the entry: `sha256:` and 64 hexadecimal digits>
    <recorded: UTC, as 2030-01-31T12:00:00.123456Z>
    <id of the key>

The signature is Ed25519 (RFC 8032). This is a public contract like that of `chain.py`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from uuid import UUID

from apps.audit.canonical_json import canonical_bytes
from apps.audit.signing import PublicKeys, is_signed_by, signing_key

EVERY_ENTRIES = 1000
"""A chain that grows past a multiple of this gets a checkpoint in the same commit."""
VERSION = 1
_DOMAIN = "conductor ledger checkpoint\nv1"
_FIELDS = {"v", "team", "seq", "hash", "recorded", "key", "signature"}


class SignedCheckpoint(NamedTuple):
    """A checkpoint as it is stored and copied: after tampering, with anything in it."""

    team: str
    seq: int
    hash: str
    recorded: str
    key_id: str
    signature: str
    """64 bytes in hexadecimal digits."""

    @property
    def message(self) -> bytes:
        """What is signed."""
        told = (self.team, self.seq, self.hash, self.recorded, self.key_id)
        lines = [_DOMAIN, *map(str, told)]
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")

    @property
    def line(self) -> str:
        """What is copied: canonical JSON."""
        values = {
            "v": VERSION,
            "team": self.team,
            "seq": self.seq,
            "hash": self.hash,
            "recorded": self.recorded,
            "key": self.key_id,
            "signature": self.signature,
        }
        return canonical_bytes(values).decode()

    def is_genuine(self, keys: PublicKeys) -> bool:
        """Say whether the signature is that of the key it names.

        Raises: KeyError if that key is none of `keys`.
        """
        key = keys[self.key_id]
        try:
            signature = bytes.fromhex(self.signature)
        except ValueError:
            return False
        return is_signed_by(key, signature, self.message)


def sign(team_id: UUID, seq: int, entry_hash: str, recorded: str) -> SignedCheckpoint:
    """Return a checkpoint of this site."""
    key_id, key = signing_key()
    bare = SignedCheckpoint(str(team_id), seq, entry_hash, recorded, key_id, "")
    return bare._replace(signature=key.sign(bare.message).hex())


def is_due(before: int, after: int) -> bool:
    """Say whether a chain that grew from seq to seq gets a checkpoint at its end."""
    return after // EVERY_ENTRIES > before // EVERY_ENTRIES


def read_line(text: str) -> SignedCheckpoint | None:
    """Return the checkpoint of a line; None if there is none in it.

    A line of the log is read too, as JSON and as text.
    """
    values = _json(text[text.find("{") : text.rfind("}") + 1])
    if isinstance(values, dict) and isinstance(values.get("event"), str):
        values = _json(values["event"])
    if not isinstance(values, dict) or values.keys() != _FIELDS:
        return None
    return _checkpoint(values)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _checkpoint(values: dict[str, Any]) -> SignedCheckpoint | None:
    texts = [values[n] for n in ("team", "hash", "recorded", "key", "signature")]
    seq = values["seq"]
    if values["v"] != VERSION or type(seq) is not int or not 0 < seq < 2**63:
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    team, entry_hash, recorded, key_id, signature = texts
    try:
        UUID(team)
    except ValueError:
        return None
    return SignedCheckpoint(team, seq, entry_hash, recorded, key_id, signature)
