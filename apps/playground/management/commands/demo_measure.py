"""`manage.py demo_measure`: train and measure the planner that ships with the demo."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import Team
from apps.core.errors import ConductorError
from apps.evaluation.reports.report import report_make
from apps.evaluation.reports.report_markdown import report_markdown
from apps.evaluation.selectors import access_suite, newest_version
from apps.playground.demo.measuring import measured_make
from apps.playground.demo.preparation import SUITE, TEAM_SLUG


class Command(BaseCommand):
    """Makes the files; `python -m deploy.demo_measure` runs it on a site of its own."""

    help = "Train and measure the demo's planner, and write deploy/demo_files."

    def handle(self, *args: Any, **options: Any) -> None:
        """Make both files, and print the report of the evaluation."""
        team = Team.objects.filter(slug=TEAM_SLUG).first()
        if team is None:
            raise CommandError("there is no demo: run demo_prepare --untrained first")
        version = newest_version(access_suite(team_id=team.id, name=SUITE))
        try:
            evaluation = measured_make(team, version)
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        self.stdout.write(report_markdown(report_make(evaluation)))
