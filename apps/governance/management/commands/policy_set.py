"""`manage.py policy_set FILE --team SLUG`: put the rules of a team in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.governance.management.policy_files import policy_file_read
from apps.governance.services import policy_replace

ACTOR = Actor("service", "policy_set", "the operator")


class Command(BaseCommand):
    """Replaces the policy of one team; it is recorded in the team's ledger."""

    help = (
        "Put the rules of a JSON file in force for one team, in the place of those "
        "that are. The form is that of the REST API; see docs/governance.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument(
            "--if-version",
            type=int,
            help="refuse if the policy is not at this version any more",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the change and say so."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        try:
            row = policy_replace(
                team=team,
                values=policy_file_read(options["file"]),
                actor=ACTOR,
                expected_version=options["if_version"],
            )
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        version = row.version if row else 0
        self.stdout.write(f"policy of team {team.slug}, version {version}")
