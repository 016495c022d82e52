"""`manage.py audit_public_key`: what others need to check this site's checkpoints."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser

from apps.audit.checkpoints.notes import origin_of, verifier_key
from apps.audit.signing import own_public_keys, public_pem


class Command(BaseCommand):
    """Print the public keys of checkpoints; the first one signs now."""

    help = "Print the public keys that verify checkpoints, in PEM format."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--team",
            type=UUID,
            help="print the keys of this team's tree as signed notes (C2SP) have them",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print each key below its id, or a team's keys one a line."""
        for key_id, key in own_public_keys().items():
            if options["team"]:
                name = origin_of(str(options["team"]))
                self.stdout.write(verifier_key(name, key))
                continue
            self.stdout.write(f"{key_id}\n{public_pem(key)}", ending="")
