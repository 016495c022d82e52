"""Encryption at rest: AES-256-GCM under a ring of keys that can be rotated.

A sealed value is `key id (1 byte length, then ASCII) ‖ nonce (12) ‖ ciphertext`. It is
bound to its place by `context` (team and row): moved elsewhere it does not open.
"""

from __future__ import annotations

import base64
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from apps.core.errors import SecretUnreadable

NONCE_BYTES = 12
KEY_BYTES = 32


def seal(plaintext: bytes, *, context: bytes) -> bytes:
    """Encrypt with the first key of the ring."""
    head, cipher = _first(tuple(settings.ENCRYPTION_KEYS))
    nonce = os.urandom(NONCE_BYTES)
    return head + nonce + cipher.encrypt(nonce, plaintext, context)


def unseal(sealed: bytes, *, context: bytes) -> bytes:
    """Decrypt with the key the value names.

    Raises: SecretUnreadable if the key is gone, the bytes were changed or the
    context is another one.
    """
    end = 1 + sealed[0] if sealed else 0
    key_id, rest = sealed[1:end], sealed[end:]
    cipher = _ring(tuple(settings.ENCRYPTION_KEYS)).get(key_id)
    if cipher is None:
        raise _key_is_missing(key_id)
    try:
        return cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], context)
    except (InvalidTag, ValueError) as exc:  # ValueError: cut off within the nonce
        raise SecretUnreadable(
            "a stored value does not open with its encryption key"
        ) from exc


def derived_secrets(purpose: bytes) -> tuple[bytes, ...]:
    """Return 32 secret bytes from each key of the ring, those of the first key first.

    They are for `purpose` alone: they tell nothing of the key, nor of other purposes.
    Source: RFC 5869, without a salt, `purpose` as info.
    """
    return tuple(
        HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(key)
        for key in _keys(tuple(settings.ENCRYPTION_KEYS)).values()
    )


def _key_is_missing(key_id: bytes) -> SecretUnreadable:
    name = key_id.decode("ascii", "replace")
    return SecretUnreadable(f"encryption key {name!r} is not among the settings")


def require_usable_keys() -> None:
    """Raise ImproperlyConfigured, quoting no key, if one of the ring is unusable."""
    _ring(tuple(settings.ENCRYPTION_KEYS))


def require_key_of(sealed: bytes) -> None:
    """Raise SecretUnreadable if the key that a value names is not in the ring.

    Whether it is the same key only opening tells.
    """
    key_id = sealed[1 : 1 + sealed[0]] if sealed else b""
    if key_id not in _ring(tuple(settings.ENCRYPTION_KEYS)):
        raise _key_is_missing(key_id)


@lru_cache(maxsize=4)
def _first(specs: tuple[str, ...]) -> tuple[bytes, AESGCM]:
    """Return how values sealed with the first key begin, and its cipher."""
    key_id, cipher = next(iter(_ring(specs).items()))
    return len(key_id).to_bytes(1, "big") + key_id, cipher


@lru_cache(maxsize=4)
def _ring(specs: tuple[str, ...]) -> dict[bytes, AESGCM]:
    return {key_id: AESGCM(key) for key_id, key in _keys(specs).items()}


def _keys(specs: tuple[str, ...]) -> dict[bytes, bytes]:
    keys: dict[bytes, bytes] = {}
    for number, spec in enumerate(specs, start=1):
        key_id, _, encoded = spec.partition(":")
        try:
            key = base64.b64decode(encoded, validate=True)
        except ValueError:  # not base64, or not even ASCII
            key = b""
        if not (key_id and key_id.isascii()) or len(key) != KEY_BYTES:
            raise ImproperlyConfigured(
                f"CONDUCTOR_ENCRYPTION_KEYS: key {number} is not like "
                "id:base64 of 32 bytes"
            )
        keys[key_id.encode("ascii")] = key
    return keys
