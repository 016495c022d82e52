"""Sealing and opening of providers' keys.

A sealed secret opens only in its own row, for its own team, scheme and host: copied
elsewhere, or with one of their columns changed, it stays shut.
"""

from __future__ import annotations

import hmac

from apps.core.errors import SecretUnreadable
from apps.core.keyring import seal, unseal
from apps.pools.base_urls import origin
from apps.pools.errors import CredentialMismatch
from apps.pools.models import Credential


def credential_seal(credential: Credential, secret: str) -> None:
    """Put `secret` into the row, encrypted. Does not save."""
    credential.sealed = seal(secret.encode(), context=_context(credential))


def credential_holds(credential: Credential, secret: str) -> bool:
    """Say whether the row holds `secret`. One that cannot be opened does not."""
    try:
        present = unseal(bytes(credential.sealed), context=_context(credential))
    except SecretUnreadable:
        return False
    return hmac.compare_digest(present, secret.encode())


def credential_try(credential: Credential) -> None:
    """Check that the row's secret opens. Raises: SecretUnreadable."""
    unseal(bytes(credential.sealed), context=_context(credential))


def credential_open(credential: Credential, *, base_url: str) -> str:
    """Return the secret, to be sent to `base_url` and nowhere else.

    Raises: CredentialMismatch for another scheme, host or port; SecretUnreadable if it
    does not open.
    """
    if not credential.is_bound_to(base_url):
        raise CredentialMismatch(
            f"credential {credential.name!r} is bound to {credential.origin!r} and is "
            f"not sent to {origin(base_url)!r}"
        )
    return unseal(bytes(credential.sealed), context=_context(credential)).decode()


def _context(credential: Credential) -> bytes:
    owner = credential.team_id.bytes + credential.id.bytes
    return b"credential:" + owner + credential.origin.encode()
