"""Digests of secrets that were shown once: API keys, tokens of invitations and links.

Under peppers derived from the site's secret key, so that a stolen table is worthless
without the settings, and under its fallbacks, so that a new key spoils none.
"""

from __future__ import annotations

import secrets
from functools import lru_cache

from django.conf import settings

from apps.accounts.keys import key_digest
from apps.core.hmacs import HmacSha256

API_KEY = b"conductor:api-key-digest:1"
INVITATION = b"conductor:invitation-digest:1"
INVITATION_MAIL = b"conductor:invitation-mail:1"
"""The purpose of the proof that a link came from the mail: the inviter sees the
token."""
SHARE_LINK = b"conductor:share-link-digest:1"
TOKEN_BYTES = 32
"""256 random bits, which cannot be guessed."""


def token_generate() -> str:
    """Return a new random token that fits into an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def digests_of(raw: str, *, purpose: bytes) -> list[str]:
    """Return the digest of `raw` under each pepper, the current one first."""
    peppers = _peppers((settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS), purpose)
    return [key_digest(raw, pepper=pepper) for pepper in peppers]


@lru_cache(maxsize=8)
def _peppers(site_secrets: tuple[str, ...], purpose: bytes) -> tuple[HmacSha256, ...]:
    """Derive the peppers of a purpose from the site's secret key and its fallbacks.

    Not from the encryption keys: when those are rotated every sealed value is sealed
    anew and the old key thrown away, which a digest does not survive. `SECRET_KEY`
    has fallbacks made for this.
    """
    return tuple(
        HmacSha256(HmacSha256(secret.encode()).digest(purpose))
        for secret in site_secrets
    )
