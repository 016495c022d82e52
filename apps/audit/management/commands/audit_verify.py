"""`manage.py audit_verify`: proves the ledger from the command line.

Exits with 0 if every chain holds, else non-zero, naming team, seq and kind of fault.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.chain import tagged
from apps.audit.verify import VerifyReport, team_ids, verify_subject, verify_team


class Command(BaseCommand):
    """Verify the ledger of all teams, of one team, or of one run."""

    help = "Verify the hash chains of the ledger; exits non-zero on the first fault."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--team", type=UUID, help="id of one team")
        parser.add_argument("--run", type=UUID, help="id of one run, or other subject")

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify, print a line for each chain and fail if one does not hold."""
        teams = [options["team"]] if options["team"] else team_ids()
        run: UUID | None = options["run"]
        if run:
            reports = [verify_subject(team, run) for team in teams]
            reports = [r for r in reports if r.entries or r.fault]
            if not reports:
                raise CommandError(f"no entries about {str(run)!r}")
        else:
            reports = [verify_team(team) for team in teams]
        for report in reports:
            self._print(report)
        broken = sum(not report.is_intact for report in reports)
        if broken:
            raise CommandError(f"{broken} of {len(reports)} chains do not hold")
        entries = sum(report.entries for report in reports)
        self.stdout.write(f"{len(reports)} chains hold, {entries} entries")

    def _print(self, report: VerifyReport) -> None:
        counts = f"{report.entries} entries, {report.bodies} bodies"
        line = f"team {report.team_id}: {counts}, {report.erased} erased"
        if report.fault is None:
            self.stdout.write(
                f"{line}, ends with {report.end.seq} {tagged(report.end.hash)}"
            )
            return
        fault = report.fault
        self.stderr.write(
            f"{line}; FAULT {fault.kind} at seq {fault.seq}: {fault.detail}"
        )
