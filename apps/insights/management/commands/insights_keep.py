"""`manage.py insights_keep`: sum what insights show, as far as that is over."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.insights.rollup import insights_watch


class Command(BaseCommand):
    """Does at once what one process of the site does bit by bit."""

    help = (
        "Sum the queries, faults and plans of each team on days that are over, and "
        "today so far, so that pages of insights are quick. Safe to call at any time, "
        "beside a running site."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Keep the sums of every team and say of how many days."""
        count = sum(1 for _ in insights_watch().keep())
        self.stdout.write(f"insights are summed: {count} steps")
