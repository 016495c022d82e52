"""Limits the share links that one address may open in a minute, good or bad."""

from __future__ import annotations

from django.conf import settings

from apps.core.requesters import AddressCounts
from apps.sharing.errors import TooManyLookups


class Lookups(AddressCounts):
    """Counts by address."""

    def note(self, address: str) -> None:
        """Count a link that was opened. Raises: TooManyLookups beyond the limit."""
        wait_s = self.count(address, settings.SHARE_LINK_LOOKUPS_PER_MINUTE)
        if wait_s is not None:
            raise TooManyLookups(
                f"your address opened too many links; try again in {wait_s} s",
                retry_after_s=wait_s,
            )


lookups = Lookups()
"""This process's."""
