"""Limits the unknown API keys that one address may try.

Guarantees: only requests whose key is unknown or malformed are counted and refused
here, so valid keys from the same address, behind a NAT or a proxy, work as ever.
"""

from __future__ import annotations

from django.conf import settings

from apps.accounts.errors import TooManyGuesses
from apps.core.requesters import AddressCounts


class Guesses(AddressCounts):
    """Counts by address."""

    def note(self, address: str) -> None:
        """Count one unknown key. Raises: TooManyGuesses beyond the limit."""
        limit = settings.UNKNOWN_KEYS_PER_MINUTE
        wait_s = self.count(address, limit)
        if wait_s is not None:
            raise TooManyGuesses(
                f"more than {limit} API keys that are not known here came from your "
                f"address within a minute; check the key, then try again in {wait_s} s",
                retry_after_s=wait_s,
            )


guesses = Guesses()
"""This process's."""
