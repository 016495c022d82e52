"""`manage.py insights_rebuild`: derive from the ledger what old runs did not note."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import Team
from apps.audit.rows import RowReport
from apps.insights.checks import rows_check
from apps.insights.rollup import team_insights_keep
from apps.insights.services import insights_rebuild


class Command(BaseCommand):
    """Reads the entries of every run that ended before its faults were noted."""

    help = (
        "Note the faults, loops and first tokens of runs that ended before these were "
        "noted, from their ledger entries, and sum the days anew. Safe to call at any "
        "time and again, beside a running site. With --check: change nothing, sum the "
        "days anew and say where the kept sums differ."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the slug of a team."""
        parser.add_argument("--team", help="Slug of a team. Without it: all teams.")
        parser.add_argument(
            "--check",
            action="store_true",
            help="Change nothing; fail if a kept sum is not that of its runs.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Derive them and say of how many runs."""
        teams = Team.objects.order_by("slug")
        if options["team"]:
            teams = teams.filter(slug=options["team"])
            if not teams:
                raise CommandError(f"there is no team {options['team']!r}")
        if options["check"]:
            self._check(teams)
            return
        for team in teams:
            noted = unreadable = 0
            for done, failed in insights_rebuild(team.id):
                noted, unreadable = noted + done, unreadable + failed
            for _ in team_insights_keep(team.id):
                pass
            line = f"{team.slug}: {noted} runs noted"
            if unreadable:
                line += f", {unreadable} cannot be read; see audit_verify"
            self.stdout.write(line)

    def _check(self, teams: Iterable[Team]) -> None:
        differences = 0
        for team in teams:
            report = RowReport()
            rows_check(team.id, None, report)
            for row, column, stored, derived in report.faults:
                values = f"stored {stored}, derived {derived}"
                self.stderr.write(f"{team.slug}: {row}: {column}: {values}")
            summed = report.checked.total()
            self.stdout.write(
                f"{team.slug}: {summed} sums of days compared, "
                f"{report.differences} differences"
            )
            differences += report.differences
        if differences:
            raise CommandError(
                f"{differences} kept sums differ from the runs; call this without "
                "--check to make them anew, and audit_verify to compare the runs"
            )
