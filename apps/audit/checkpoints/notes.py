"""Signed notes and checkpoints of transparency logs, in the form of C2SP.

A checkpoint of a team's tree is this text, each line with a newline:

    conductor/ledger/<team: UUID with dashes, in small letters>
    <size: entries of the tree, decimal>
    <root of the tree: base64>
    entry <hash of the last entry: `sha256:` and 64 hexadecimal digits>
    time <UTC, as 2030-01-31T12:00:00.123456Z>

A signed note is the text, an empty line, and a line for each signature:

    — <name of the key> <base64 of: id of the key (4 bytes) ‖ Ed25519 signature (64)>

The name of the key is the first line of the text; its id is the first 4 bytes of
SHA-256(name ‖ newline ‖ 0x01 ‖ public key (32)). Source: C2SP `signed-note` and
`tlog-checkpoint`; the last two lines of the text are extension lines.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NOTE_KEY_BYTES = 4
_ED25519 = b"\x01"
_ORIGIN = "conductor/ledger/"
_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
_OTHER = r"\u2014 (?!(?P=origin) )[^ +\n]+ [A-Za-z0-9+/=]+\n"
_NOTE = re.compile(
    rf"(?P<text>(?P<origin>{_ORIGIN}(?P<team>{_ID}))\n"
    r"(?P<size>[1-9][0-9]{0,18})\n"
    r"(?P<root>[A-Za-z0-9+/]{43}=)\n"
    r"entry (?P<hash>sha256:[0-9a-f]{64})\n"
    rf"time (?P<time>{_TIME})\n)"
    rf"\n(?:{_OTHER})*"
    r"\u2014 (?P=origin) (?P<signature>[A-Za-z0-9+/]{91}=)\n"
    rf"(?:{_OTHER})*"
)
"""With signatures of others, who confirm it, around that of the site."""


class TreeStatement(NamedTuple):
    """What a signed note says, before anything of it is checked."""

    team: str
    size: int
    root: str
    """In base64."""
    hash: str
    recorded: str
    signature: bytes
    """Id of the key, then the signature."""


def origin_of(team: str) -> str:
    """Return the name of a team's tree, and of the keys that sign it."""
    return _ORIGIN + team


def statement_text(
    team: str, size: int, root: str, entry_hash: str, recorded: str
) -> str:
    """Return what is signed."""
    told = (origin_of(team), str(size), root, f"entry {entry_hash}", f"time {recorded}")
    return "".join(f"{line}\n" for line in told)


def signed_note(text: str, name: str, signature: bytes) -> str:
    """Return a text with its signature, the id of the key before it."""
    return f"{text}\n\u2014 {name} {b64encode(signature).decode()}\n"


def note_key_id(name: str, key: Ed25519PublicKey) -> bytes:
    """Return the 4 bytes that stand for a key under a name."""
    return sha256(f"{name}\n".encode() + _key_data(key)).digest()[:NOTE_KEY_BYTES]


def verifier_key(name: str, key: Ed25519PublicKey) -> str:
    """Return a key as tools for signed notes take it: a `vkey`."""
    data = b64encode(_key_data(key)).decode()
    return f"{name}+{note_key_id(name, key).hex()}+{data}"


def read_note(note: str) -> TreeStatement | None:
    """Return what a signed note says; None if it is no checkpoint of a tree."""
    found = _NOTE.fullmatch(note)
    if found is None:
        return None
    return TreeStatement(
        found["team"],
        int(found["size"]),
        found["root"],
        found["hash"],
        found["time"],
        b64decode(found["signature"]),
    )


def _key_data(key: Ed25519PublicKey) -> bytes:
    return _ED25519 + key.public_bytes(Encoding.Raw, PublicFormat.Raw)
