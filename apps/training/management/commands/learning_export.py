"""`manage.py learning_export --team SLUG`: learning data of a pool as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.training.services import LearningExport, learning_export

ACTOR = Actor("service", "learning_export", "manage.py learning_export")


class Command(BaseCommand):
    """Writes a ZIP file of Parquet files with their data card."""

    help = "Write what planners of a pool learn from to a file; see docs/training.md."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--pool", help="name of the pool. Default: the team's")
        parser.add_argument(
            "--to", type=Path, help="the file. Default: learning-data-SLUG.zip"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file, and say where it is. One that is there is not replaced."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        try:
            export = learning_export(team=team, pool=options["pool"], actor=ACTOR)
            path: Path = options["to"] or Path(export.name)
            _write(export, path)
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        except FileExistsError as exc:
            raise CommandError(f"{exc.filename} is there already") from exc
        self.stdout.write(f"{path}: {path.stat().st_size:,} bytes")


def _write(export: LearningExport, path: Path) -> None:
    """Write a file that its owner alone may read; no part of one that fails stays."""
    path.touch(mode=0o600, exist_ok=False)
    try:
        with path.open("wb") as file:
            file.writelines(export.parts)
    except BaseException:
        path.unlink()
        raise
