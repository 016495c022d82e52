"""The keys that checkpoints are signed with: Ed25519, derived from the encryption keys.

A key's id is `ed25519:` and the first 16 hexadecimal digits of the SHA-256 of its 32
public bytes. The first encryption key signs; the keys of all verify, so checkpoints
outlive a rotation. Who holds the encryption keys can sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)
from django.conf import settings

from apps.core.errors import InvalidInput
from apps.core.keyring import derived_secrets

PURPOSE = b"conductor.audit.checkpoint.ed25519.v1"
KEY_ID = "ed25519:"
KEY_ID_DIGITS = 16

PublicKeys = Mapping[str, Ed25519PublicKey]
"""By key id; of several the first is the one that signs now."""


def signing_key() -> tuple[str, Ed25519PrivateKey]:
    """Return the id and the key that sign now."""
    return next(iter(_private_keys(tuple(settings.ENCRYPTION_KEYS)).items()))


def own_public_keys() -> PublicKeys:
    """Return the public keys of this site."""
    keys = _private_keys(tuple(settings.ENCRYPTION_KEYS))
    return {key_id: key.public_key() for key_id, key in keys.items()}


def key_id_of(key: Ed25519PublicKey) -> str:
    """Return the id of a public key."""
    digest = sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()
    return KEY_ID + digest[:KEY_ID_DIGITS]


def public_pem(key: Ed25519PublicKey) -> str:
    """Return a public key as others read it."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_public_keys(texts: Iterable[bytes]) -> PublicKeys:
    """Return the keys of PEM texts, of which each may hold several.

    Raises: InvalidInput.
    """
    found = {}
    end = b"-----END PUBLIC KEY-----"
    for text in texts:
        parts = text.split(end)[:-1]
        if not parts:
            raise InvalidInput("no public key in PEM format")
        for part in parts:
            key = _read_public_key(part + end)
            found[key_id_of(key)] = key
    return found


def is_signed_by(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    """Say whether a signature is the key's and for this message."""
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _read_public_key(text: bytes) -> Ed25519PublicKey:
    try:
        # What stands before the key, its id for example, is not part of it.
        key = load_pem_public_key(text[text.find(b"-----BEGIN") :])
    except ValueError as exc:
        raise InvalidInput("a public key in PEM format cannot be read") from exc
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInput("a public key is not one of Ed25519")
    return key


@lru_cache(maxsize=4)
def _private_keys(specs: tuple[str, ...]) -> dict[str, Ed25519PrivateKey]:
    """Return the keys by id; `specs` are what they are remembered by."""
    keys = map(Ed25519PrivateKey.from_private_bytes, derived_secrets(PURPOSE))
    return {key_id_of(key.public_key()): key for key in keys}
