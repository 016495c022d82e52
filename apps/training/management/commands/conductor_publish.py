"""`manage.py conductor_publish NUMBER --team SLUG`: serve a version, and plan with it.

Without `--url` it says how vLLM serves the version. With it, the version becomes a
conductor of the team, and is measured if that is still to be done. With `--use` a tier
plans with it; with an earlier version, that is the way back.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.pools.selectors import credential_list
from apps.training.models import ConductorVersion
from apps.training.selectors import access_conductor_version
from apps.training.services import (
    conductor_version_publish,
    conductor_version_use,
    serving_command,
)

ACTOR = Actor("service", "conductor_publish", "manage.py conductor_publish")


class Command(BaseCommand):
    """Publishes a version of a team's trained conductors."""

    help = (
        "Register a trained conductor's server, or plan with it; see docs/training.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("number", type=int, help="of the version")
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--url", help="base URL of its server, with /v1")
        parser.add_argument("--name", help="what the server calls it")
        parser.add_argument(
            "--credential", help="name of the team's key that the server wants"
        )
        parser.add_argument(
            "--use", action="store_true", help="its tier plans with it from now on"
        )
        parser.add_argument("--tier", choices=("mini", "ultra"))
        parser.add_argument("--reason", default="", help="if it did not pass the gate")

    def handle(self, *args: Any, **options: Any) -> None:
        """Publish it, use it, or say how it is served."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        try:
            version = access_conductor_version(team.id, options["number"])
            if options["url"]:
                self._publish(version, options)
            if options["use"]:
                self._use(version, options)
            if not (options["url"] or options["use"]):
                self._explain(version)
        except ConductorError as exc:
            raise CommandError(exc.message) from exc

    def _explain(self, version: ConductorVersion) -> None:
        self.stdout.write(serving_command(version))
        self.stdout.write(
            f"then: manage.py conductor_publish {version.number} --team "
            f"{version.team.slug} --url http://127.0.0.1:8100/v1"
        )

    def _publish(self, version: ConductorVersion, options: dict[str, Any]) -> None:
        values = {
            "base_url": options["url"],
            "served_name": options["name"],
            "credential_id": self._credential(version, options["credential"]),
        }
        published = conductor_version_publish(
            version=version, values=values, actor=ACTOR
        )
        assert published.conductor is not None
        self.stdout.write(
            f"version {version.number} is conductor {published.conductor.name!r}"
        )

    def _credential(self, version: ConductorVersion, name: str | None) -> UUID | None:
        """Return the key by its name; without one, what the version had before."""
        if name is None:
            conductor = version.conductor
            return None if conductor is None else conductor.credential_id
        found = credential_list(version.team_id).filter(name=name).first()
        if found is None:
            raise CommandError(f"this team has no key {name!r}")
        return found.id

    def _use(self, version: ConductorVersion, options: dict[str, Any]) -> None:
        pool = conductor_version_use(
            version=version,
            tier=options["tier"],
            reason=options["reason"],
            actor=ACTOR,
        )
        self.stdout.write(
            f"pool {pool.name!r} plans with version {version.number} since version "
            f"{pool.version} of the pool"
        )
