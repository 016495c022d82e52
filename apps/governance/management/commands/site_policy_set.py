"""`manage.py site_policy_set FILE`: put rules in force that bind all teams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.governance.management.policy_files import policy_file_read
from apps.governance.services import site_policy_replace

ACTOR = Actor("service", "site_policy_set", "the operator")


class Command(BaseCommand):
    """Replaces the site policy; it is recorded in the ledger of each team."""

    help = (
        "Put the rules of a JSON file in force for all teams, in the place of those "
        "that are. The form is that of the REST API; see docs/governance.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--if-version",
            type=int,
            help="refuse if the site policy is not at this version any more",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the change and say so."""
        try:
            row = site_policy_replace(
                values=policy_file_read(options["file"]),
                actor=ACTOR,
                expected_version=options["if_version"],
            )
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        version = row.version if row else 0
        self.stdout.write(f"site policy, version {version}")
