"""`manage.py reservations_sweep`: free what dead processes had set aside."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.budgets.services import reservations_sweep


class Command(BaseCommand):
    """Does once what every process does each minute."""

    help = (
        "Free the budget that runs had set aside whose process is gone for at least "
        "four minutes. Safe to call at any time."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep and say how many reservations were freed."""
        self.stdout.write(f"{reservations_sweep()} reservations freed")
