"""`manage.py policy_show --team SLUG`: print the rules of a team."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.governance.management.policy_files import policy_file_text
from apps.governance.selectors import policy_newest


class Command(BaseCommand):
    """Prints the policy of one team in the form that `policy_set` reads."""

    help = "Print the rules of one team, as JSON. The version goes to stderr."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--team", required=True, help="slug of the team")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the rules."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        row = policy_newest(team.id)
        self.stdout.write(policy_file_text(row))
        whose = f"{row.version}, {row.actor_name}" if row else "0"
        self.stderr.write(f"policy of team {team.slug}, version {whose}")
