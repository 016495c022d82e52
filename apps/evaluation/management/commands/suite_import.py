"""`manage.py suite_import FILE --team SLUG --name NAME`: store tasks as a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.evaluation.services import suite_import
from apps.evaluation.suites.benchmarks import READERS
from apps.evaluation.suites.files import UnreadableSuite, tasks_read

ACTOR = Actor("service", "suite_import", "manage.py suite_import")


class Command(BaseCommand):
    """Reads a file of tasks; every fault is named with its line."""

    help = (
        "Store the tasks of a file (JSON Lines, CSV, Parquet) as the newest version of "
        "a suite; see docs/evaluation.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--name", required=True, help="name of the suite")
        parser.add_argument(
            "--benchmark",
            choices=sorted(READERS),
            default="",
            help="the file is of this public benchmark, in its published format",
        )
        parser.add_argument(
            "--simulated",
            action="store_true",
            help="the tasks are of the simulated benchmark; reports say so",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Store the tasks and say so."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        path: Path = options["file"]
        try:
            tasks = tasks_read(path.read_bytes(), path.name, options["benchmark"])
            version = suite_import(
                team=team,
                name=options["name"],
                tasks=tasks,
                actor=ACTOR,
                is_simulated=options["simulated"],
            )
        except OSError as exc:
            raise CommandError(f"cannot read {path}: {exc.strerror}") from exc
        except UnreadableSuite as exc:
            raise CommandError("\n".join(map(str, exc.faults))) from exc
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        self.stdout.write(
            f"suite {version.suite.name!r}, version {version.number}: "
            f"{version.task_count} tasks"
        )
