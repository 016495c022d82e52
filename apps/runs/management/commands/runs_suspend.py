"""`manage.py runs_suspend`: stop all runs of a team or of the site, or allow them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.runs.services import runs_allow, runs_suspend

ACTOR = Actor("service", "runs_suspend", "the operator")


class Command(BaseCommand):
    """Places or lifts a suspension; it is recorded in the ledger."""

    help = (
        "Stop all runs of a team or of the whole site: runs in progress are cancelled, "
        "no run can start. --lift allows them again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        scope = parser.add_mutually_exclusive_group(required=True)
        scope.add_argument("--team", help="slug of the team")
        scope.add_argument("--site", action="store_true", help="all teams")
        action = parser.add_mutually_exclusive_group(required=True)
        action.add_argument("--reason", help="why; shown to everyone and recorded")
        action.add_argument("--lift", action="store_true", help="allow runs again")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the change and say so."""
        team = self._team(options["team"]) if options["team"] else None
        whose = f"of team {team.slug}" if team else "of the site"
        try:
            if options["lift"]:
                runs_allow(team=team, actor=ACTOR)
                self.stdout.write(f"runs {whose} are allowed again")
            else:
                runs_suspend(team=team, reason=options["reason"], actor=ACTOR)
                self.stdout.write(f"all runs {whose} are stopped")
        except ConductorError as exc:
            raise CommandError(exc.message) from exc

    def _team(self, slug: str) -> Team:
        team = Team.objects.filter(slug=slug).first()
        if team is None:
            raise CommandError(f"there is no team {slug!r}")
        return team
