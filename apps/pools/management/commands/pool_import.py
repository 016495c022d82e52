"""`manage.py pool_import FILE --team SLUG`: create or update a pool from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.pools.errors import PoolDocumentInvalid
from apps.pools.pool_file import PoolDocument, document_parse
from apps.pools.services import pool_import
from apps.pools.types import ImportReport


class Command(BaseCommand):
    """Imports a pool file; examples are in docs/pools."""

    help = (
        "Create or update a pool from a YAML file. Keys are read from the environment "
        "variables the file names. What the file does not mention stays as it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what would change, change nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file and print what changed."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        actor = Actor(type="service", id="pool_import", display="manage.py pool_import")
        try:
            document = _read(options["file"])
            with transaction.atomic():
                report = pool_import(
                    team=team, document=document, actor=actor, environ=os.environ
                )
                if options["dry_run"]:
                    transaction.set_rollback(True)
        except PoolDocumentInvalid as exc:
            lines = "\n".join(f"  {fault}" for fault in exc.faults)
            raise CommandError(f"{options['file']} is not usable:\n{lines}") from exc
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        self._print(report, "would be " if options["dry_run"] else "")

    def _print(self, report: ImportReport, mood: str) -> None:
        for line in report.created:
            self.stdout.write(f"{mood}created: {line}")
        for line in report.changed:
            self.stdout.write(f"{mood}changed: {line}")
        if not report.has_changes:
            self.stdout.write("nothing to change")
        self.stdout.write(f"pool {report.pool}, {mood}version {report.version}")


def _read(path: Path) -> PoolDocument:
    try:
        return document_parse(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise CommandError(f"cannot read {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise CommandError(f"{path} is not UTF-8 text") from exc
