"""`manage.py audit_accept`: accepts the head of a chain that was tampered with."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.services import head_accept
from apps.audit.types import Actor
from apps.core.errors import InvalidInput

OPERATOR = Actor("service", "operator", "Operator")


class Command(BaseCommand):
    """Let a chain have signed checkpoints again, after its faults were looked into."""

    help = (
        "Record that the operator has looked into what audit_verify says of a team's "
        "chain, and let its end be signed again. What is wrong stays named."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--team", type=UUID, required=True, help="id of the team")
        parser.add_argument(
            "--reason", required=True, help="what was found, for the record"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it and say where it is recorded."""
        try:
            written = head_accept(
                team_id=options["team"], actor=OPERATOR, reason=options["reason"]
            )
        except (InvalidInput, ValueError) as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"accepted; recorded as entry {written.seq}")
