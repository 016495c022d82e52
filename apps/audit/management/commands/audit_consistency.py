"""`manage.py audit_consistency`: proves that a checkpoint continues an earlier one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.bundles.consistency import consistency_create
from apps.core.errors import ConductorError


class Command(BaseCommand):
    """Write the proof about two checkpoints of a team."""

    help = (
        "Write a proof that the later of two signed checkpoints of a team contains "
        "all that the earlier one does, unchanged. It discloses nothing but hashes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--team", type=UUID, required=True, help="id of the team")
        for name in ("from", "to"):
            parser.add_argument(
                f"--{name}",
                type=int,
                required=True,
                metavar="SEQ",
                help="place of a checkpoint, as `seq` of its copy says",
            )
        parser.add_argument(
            "--out", type=Path, required=True, metavar="FILE", help="the new JSON file"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it and say what it proves."""
        path = options["out"]
        if path.exists():
            raise CommandError(f"--out: {str(path)!r} exists")
        places = options["from"], options["to"]
        try:
            content, lines = consistency_create(options["team"], *places)
            path.write_bytes(content)
        except (ConductorError, OSError) as exc:
            raise CommandError(str(exc)) from exc
        for line in lines:
            self.stdout.write(line)
