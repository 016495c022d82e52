"""The shape of an API key. Pure functions: no database, no settings, no clock.

A key is `cdk_`, then 8 public characters by which its row is found, 28 secret ones
(166 bits), and a checksum of 6. All are base62, so a double click selects all of it.
The checksum lets a mistyped or made-up key be refused before any lookup.
"""

from __future__ import annotations

import re
import secrets
import zlib
from dataclasses import dataclass, field

from apps.core.hmacs import HmacSha256

PREFIX = "cdk_"
LOOKUP_LENGTH = 8
SECRET_LENGTH = 28
"""62**28 is more than 2**166."""
CHECKSUM_LENGTH = 6
"""62**6 is more than 2**32: every CRC-32 fits."""
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_BODY_LENGTH = len(PREFIX) + LOOKUP_LENGTH + SECRET_LENGTH
_SHAPE = re.compile(
    rf"{PREFIX}[0-9A-Za-z]{{{LOOKUP_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH}}}"
)


@dataclass(frozen=True, slots=True)
class ParsedKey:
    """A well-formed key. It may still be unknown, revoked or expired."""

    lookup: str
    """The public part; unique among all keys."""
    secret: str = field(repr=False)
    """The whole key as it was sent."""


def key_generate() -> ParsedKey:
    """Return a new random key."""
    body = PREFIX + "".join(
        secrets.choice(ALPHABET) for _ in range(LOOKUP_LENGTH + SECRET_LENGTH)
    )
    return ParsedKey(body[len(PREFIX) :][:LOOKUP_LENGTH], body + key_checksum(body))


def key_parse(raw: str) -> ParsedKey | None:
    """Return the parts of `raw`, or None if no such key can exist."""
    if _SHAPE.fullmatch(raw) is None:
        return None
    body, checksum = raw[:_BODY_LENGTH], raw[_BODY_LENGTH:]
    if checksum != key_checksum(body):
        return None
    return ParsedKey(body[len(PREFIX) :][:LOOKUP_LENGTH], raw)


def key_checksum(body: str) -> str:
    """Return the CRC-32 of `body` in base62.

    A CRC finds every change of up to 32 neighbouring bits, so of any one character.
    """
    number = zlib.crc32(body.encode("ascii"))
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def key_digest(raw: str, *, pepper: HmacSha256) -> str:
    """Return the HMAC-SHA256 of a key: what is stored instead of it.

    `raw` may be any text a client sent. Without the pepper, which is not in the
    database, a stolen table is not enough to test a guess.
    """
    return pepper.digest(raw.encode("utf-8", "surrogatepass")).hex()
