"""`manage.py team_create NAME`: create a team at a terminal."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.accounts.services import team_create
from apps.audit.types import Actor
from apps.core.errors import ConductorError


class Command(BaseCommand):
    """Creates a team and, with `--owner`, its first owner."""

    help = "Create a team."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("name")
        parser.add_argument("--slug", default="", help="short name for addresses")
        parser.add_argument("--owner", help="email address of an existing user")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the team and print its slug and id."""
        owner = None
        if options["owner"]:
            owner = User.objects.filter(email=options["owner"].strip().lower()).first()
            if owner is None:
                raise CommandError(f"there is no user {options['owner']!r}")
        actor = Actor(type="service", id="team_create", display="manage.py team_create")
        try:
            team = team_create(
                name=options["name"], slug=options["slug"], owner=owner, actor=actor
            )
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        self.stdout.write(f"team {team.slug} ({team.id}) created")
