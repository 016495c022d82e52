"""`manage.py usage_keep`: add up what teams used, as far as that is over."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.accounts.models import Team
from apps.runs.usage.rollup_schedule import usage_keep


class Command(BaseCommand):
    """Does for all teams at once what one process of the site does bit by bit."""

    help = (
        "Add up what each team used on days that are over, and today so far, so that "
        "pages of usage are quick. Safe to call at any time, beside a running site."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Keep the sums of every team and say of how many."""
        teams = list(Team.objects.order_by("id").values_list("id", flat=True))
        for team_id in teams:
            for _ in usage_keep(team_id):
                pass
        self.stdout.write(f"usage of {len(teams)} teams is added up")
