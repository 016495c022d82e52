"""`manage.py api_key_issue --team SLUG --name NAME`: issue a key and print it once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import DEFAULT_SCOPES, Scope, Team
from apps.accounts.services import KEY_LIFETIME, api_key_issue
from apps.audit.types import Actor
from apps.core.errors import ConductorError


class Command(BaseCommand):
    """Issues an API key: the key to standard output, all else to standard error."""

    help = "Issue an API key for a team and print it. It cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--name", required=True, help="what the key is for")
        parser.add_argument("--days", type=int, default=KEY_LIFETIME.days)
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="may be given again; default: what it takes to ask questions",
        )
        parser.add_argument("--always-include-usage", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue the key and print it."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        try:
            api_key, secret = api_key_issue(
                team=team,
                name=options["name"],
                scopes=options["scope"] or DEFAULT_SCOPES,
                lifetime=timedelta(days=options["days"]),
                always_include_usage=options["always_include_usage"],
                actor=Actor(
                    type="service",
                    id="api_key_issue",
                    display="manage.py api_key_issue",
                ),
            )
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        self.stderr.write(
            f"{api_key}, for team {team.slug}, works until "
            f"{api_key.expires_at:%Y-%m-%d}. Keep it: it cannot be shown again."
        )
        self.stdout.write(secret)
