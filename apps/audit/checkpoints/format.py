"""Signed checkpoints, as pure values: what is signed, and the line that is copied.

A checkpoint says: at this moment the chain of this team ended with this entry. One with
a root also commits to the Merkle tree over all entries up to there; it is a signed note
(`notes.py`), and its copy holds the note. One without, which a commit of entries makes,
and older ones, are version 1: signed are these seven lines, each with a newline, in
ASCII:

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
from apps.audit.checkpoints.notes import (
    NOTE_KEY_BYTES,
    note_key_id,
    origin_of,
    read_note,
    signed_note,
    statement_text,
)
from apps.audit.signing import PublicKeys, is_signed_by, signing_key

EVERY_ENTRIES = 1000
"""A chain that grows past a multiple of this gets a checkpoint in the same commit."""
VERSION = 1
NOTE_VERSION = 2
_DOMAIN = "conductor ledger checkpoint\nv1"
_FIELDS = {"v", "team", "seq", "hash", "recorded", "key", "signature"}
_NOTE_FIELDS = {"v", "team", "seq", "key", "note"}
_NO_SIGNATURE = bytes(NOTE_KEY_BYTES + 64)


class SignedCheckpoint(NamedTuple):
    """A checkpoint as it is stored and copied: after tampering, with anything in it."""

    team: str
    seq: int
    hash: str
    recorded: str
    key_id: str
    signature: str
    """64 bytes in hexadecimal digits; with a root the 4 of the note's key before."""
    root: str = ""
    """Of the tree, in base64; empty: version 1."""

    @property
    def message(self) -> bytes:
        """What is signed."""
        if self.root:
            return self._text.encode("utf-8", "replace")
        told = (self.team, self.seq, self.hash, self.recorded, self.key_id)
        lines = [_DOMAIN, *map(str, told)]
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")

    @property
    def note(self) -> str:
        """Return a checkpoint with a root as a signed note.

        A signature that cannot be read becomes zeros, which no key makes.
        """
        try:
            signature = bytes.fromhex(self.signature)
        except ValueError:
            signature = _NO_SIGNATURE
        return signed_note(self._text, origin_of(self.team), signature)

    @property
    def _text(self) -> str:
        place = (self.seq, self.root, self.hash, self.recorded)
        return statement_text(self.team, *place)

    @property
    def line(self) -> str:
        """What is copied: canonical JSON."""
        if self.root:
            told = {
                "v": NOTE_VERSION,
                "team": self.team,
                "seq": self.seq,
                "key": self.key_id,
                "note": self.note,
            }
            return canonical_bytes(told).decode()
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
        if self.root:
            note_key = note_key_id(origin_of(self.team), key)
            if not signature.startswith(note_key):
                return False
            signature = signature[NOTE_KEY_BYTES:]
        return is_signed_by(key, signature, self.message)


def sign(
    team_id: UUID, seq: int, entry_hash: str, recorded: str, root: str = ""
) -> SignedCheckpoint:
    """Return a checkpoint of this site; with a root, in base64, one of the tree."""
    key_id, key = signing_key()
    team = str(team_id)
    bare = SignedCheckpoint(team, seq, entry_hash, recorded, key_id, "", root)
    signature = key.sign(bare.message)
    if root:
        signature = note_key_id(origin_of(team), key.public_key()) + signature
    return bare._replace(signature=signature.hex())


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
    if not isinstance(values, dict):
        return None
    if values.keys() == _NOTE_FIELDS:
        return _noted(values)
    return _checkpoint(values) if values.keys() == _FIELDS else None


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


def _noted(values: dict[str, Any]) -> SignedCheckpoint | None:
    """Return the checkpoint of a line that holds a signed note."""
    key_id, note = values["key"], values["note"]
    texts = isinstance(key_id, str) and isinstance(note, str)
    if values["v"] != NOTE_VERSION or not texts:
        return None
    told = read_note(note)
    if told is None or not told.size < 2**63:
        return None
    place = (told.team, told.size, told.hash, told.recorded)
    is_told = (values["team"], values["seq"]) == (told.team, told.size)
    # What the line says beside the note is not signed: it must be the same.
    signature = told.signature if is_told else _NO_SIGNATURE
    return SignedCheckpoint(*place, key_id, signature.hex(), told.root)
