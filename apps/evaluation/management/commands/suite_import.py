"""`manage.py suite_import FILE --team SLUG --name NAME`: store tasks as a suite.

`--reviewed` instead of a file takes the runs that reviewers marked as tasks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.evaluation.models import SuiteVersion
from apps.evaluation.services import suite_import
from apps.evaluation.suites.benchmarks import READERS
from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from apps.evaluation.suites.reviewed import suite_add_reviewed

ACTOR = Actor("service", "suite_import", "manage.py suite_import")


class Command(BaseCommand):
    """Reads a file of tasks; every fault is named with its line."""

    help = (
        "Store the tasks of a file (JSON Lines, CSV, Parquet) as the newest version of "
        "a suite, or add those of reviewed runs to it; see docs/evaluation.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("file", type=Path, nargs="?")
        source.add_argument(
            "--reviewed",
            choices=("exact", "numeric", "model_graded"),
            help="add the runs that reviewers marked as tasks, with this verifier",
        )
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
        parser.add_argument(
            "--family", default="reviewed", help="family of reviewed runs"
        )
        parser.add_argument(
            "--rubric",
            default="",
            help="what a right answer must have; with --reviewed model_graded",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Store the tasks and say so."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        try:
            if options["reviewed"]:
                version = self._add_reviewed(team, options)
            else:
                version = _of_file(team, options)
        except UnreadableSuite as exc:
            raise CommandError("\n".join(map(str, exc.faults))) from exc
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        self.stdout.write(
            f"suite {version.suite.name!r}, version {version.number}: "
            f"{version.task_count} tasks"
        )

    def _add_reviewed(self, team: Team, options: dict[str, Any]) -> SuiteVersion:
        """Add reviewed runs, and name those that cannot be tasks."""
        values = {
            "verifier": options["reviewed"],
            "family": options["family"],
            "rubric": options["rubric"],
        }
        added = suite_add_reviewed(
            team=team, name=options["name"], values=values, actor=ACTOR, newest=None
        )
        for each in added.skipped:
            self.stderr.write(f"run {each.run_id} is left out: {each.reason}")
        if added.version is None:
            raise CommandError("no reviewed run of this team can be a task")
        return added.version


def _of_file(team: Team, options: dict[str, Any]) -> SuiteVersion:
    path: Path = options["file"]
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise CommandError(f"cannot read {path}: {exc.strerror}") from exc
    return suite_import(
        team=team,
        name=options["name"],
        tasks=tasks_read(content, path.name, options["benchmark"]),
        actor=ACTOR,
        is_simulated=options["simulated"],
    )
