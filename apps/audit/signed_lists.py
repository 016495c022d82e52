"""What exports have in common: a list of files that the site signed, and its keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256

from apps.audit.checkpoints.notes import note_key_id, signed_note
from apps.audit.signing import own_public_keys, public_pem, signing_key


def signed_list(name: str, facts: Iterable[str], digests: Mapping[str, str]) -> bytes:
    """Return a signed note: a name, a line for each fact, and one for each file.

    `digests` are the SHA-256 of the files in hexadecimal, by file name.
    """
    files = (f"file {digests[each]} {each}" for each in sorted(digests))
    text = "".join(f"{line}\n" for line in (name, *facts, *files))
    _, key = signing_key()
    signature = note_key_id(name, key.public_key()) + key.sign(text.encode())
    return signed_note(text, name, signature).encode()


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file in hexadecimal."""
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def public_keys_file() -> bytes:
    """Return the site's keys, each below its id; the first one signs now."""
    keys = own_public_keys().items()
    return "".join(f"{key_id}\n{public_pem(key)}" for key_id, key in keys).encode()


def utc_text(moment: datetime) -> str:
    """Return a time as signed texts hold it: 2030-01-31T12:00:00.123456Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
