"""`manage.py runs_index`: put the texts of runs into the search index."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.accounts.models import Team
from apps.runs.search.indexing import index_forget, runs_index


class Command(BaseCommand):
    """Does at once what one process of the site does bit by bit."""

    help = (
        "Index the prompts and answers of all runs that have ended, so that they can "
        "be searched. Safe to call at any time, beside a running site."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take whether to begin anew."""
        parser.add_argument(
            "--again",
            action="store_true",
            help="empty the index first, for example after a change of the first "
            "encryption key whose old key is to be removed",
        )

    def handle(self, *args: Any, again: bool, **options: Any) -> None:
        """Index every team's runs and say how many there were."""
        if again:
            for team_id in Team.objects.values_list("id", flat=True):
                index_forget(team_id)
        self.stdout.write(f"{sum(runs_index())} runs are indexed")
