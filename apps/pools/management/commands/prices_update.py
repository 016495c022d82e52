"""`manage.py prices_update`: fetch the list of providers' prices now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.pools.services import price_list_refresh
from apps.pools.types import RefreshOutcome


class Command(BaseCommand):
    """Fetches the price list, which the site otherwise does once a day."""

    help = (
        "Fetch the list of providers' prices from PRICE_LIST_URL now. Prices that "
        "teams have set stay as they are."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Fetch the list and say what came of it."""
        result = price_list_refresh(is_forced=True)
        if result.outcome is RefreshOutcome.NOT_SET:
            raise CommandError(
                "PRICE_LIST_URL is not set: list prices are those of this version"
            )
        if result.outcome is RefreshOutcome.FAILED:
            raise CommandError(
                f"PRICE_LIST_URL: the former list stays in use: {result.why}"
            )
        if result.outcome is RefreshOutcome.UNCHANGED:
            self.stdout.write("the list in use is the newest there is")
        else:
            self.stdout.write(
                f"a new list is in use; models with a price: {result.models:,}"
            )
