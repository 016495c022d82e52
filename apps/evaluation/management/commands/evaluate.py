"""`manage.py evaluate SUITE --team SLUG --pool NAME --system …`: compare systems.

A process of the site drives the evaluation. If none is there, this command does it; a
command that is stopped is continued with `--resume`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from apps.accounts.models import Team
from apps.audit.jobs import job_claim
from apps.audit.models import JobState
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.core.money import micros_of_usd, usd_text
from apps.evaluation.jobs import evaluation_steps
from apps.evaluation.models import Evaluation, EvaluationOutcome
from apps.evaluation.reports.inspect_log import inspect_log
from apps.evaluation.reports.report import Report, report_make, result_rows
from apps.evaluation.reports.report_formats import report_values, results_csv
from apps.evaluation.reports.report_markdown import report_markdown
from apps.evaluation.selectors import (
    access_evaluation,
    access_suite,
    access_version,
    evaluation_list,
)
from apps.evaluation.services import evaluation_estimate, evaluation_start
from apps.evaluation.systems.short_names import FORMS, systems_named
from apps.pools.selectors import pool_snapshot
from apps.runs.coordination.site_status import site_status
from apps.runs.execution.executor import close_executor, open_executor
from apps.runs.models import ProcessKind

ACTOR = Actor("service", "evaluate", "manage.py evaluate")
LOOK_S = 0.5
SAY_S = 5.0
"""Seconds between two lines of progress."""


class Command(BaseCommand):
    """Starts an evaluation, shows its progress, and prints its report."""

    help = "Compare systems on a suite and print the report; see docs/evaluation.md."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("suite", nargs="?", help="name of the suite")
        parser.add_argument(
            "--suite-version", type=int, help="of the suite. Default: the newest one"
        )
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--pool", help="name of the pool. Default: the team's")
        parser.add_argument(
            "--system", action="append", default=[], help=f"again and again: {FORMS}"
        )
        parser.add_argument("--tasks", type=int, help="so many tasks. Default: all")
        parser.add_argument("--family", action="append", default=[])
        parser.add_argument("--split", choices=("held_out", "training"))
        parser.add_argument("--seed", type=int)
        parser.add_argument(
            "--calibration",
            action="store_true",
            help="keep the results of single workers as their profiles",
        )
        parser.add_argument(
            "--grade-every-step",
            action="store_true",
            help="test the code of every step, not of the last one alone",
        )
        parser.add_argument("--grader", help="worker that judges by rubrics")
        parser.add_argument("--parallel", type=int, help="runs at the same time")
        parser.add_argument("--max-cost", help="of all runs together, in US dollars")
        parser.add_argument("--resume", type=UUID, help="id of an evaluation")
        parser.add_argument(
            "--yes", action="store_true", help="start without asking at a terminal"
        )
        parser.add_argument("--json", type=Path, help="write the report to this file")
        parser.add_argument("--csv", type=Path, help="write each result to this file")
        parser.add_argument(
            "--inspect",
            type=Path,
            help="write a log of Inspect to this file; of several systems to files "
            "beside it, with their numbers",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Start or resume it, wait for it, and report."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        try:
            evaluation = self._ordered(team, options)
            self.stderr.write(f"evaluation {evaluation.id}")
            self._wait(evaluation)
            self._report(evaluation, options)
        except ConductorError as exc:
            raise CommandError(exc.message) from exc

    def _ordered(self, team: Team, options: dict[str, Any]) -> Evaluation:
        if options["resume"]:
            return access_evaluation(team_id=team.id, evaluation_id=options["resume"])
        if not (options["suite"] and options["system"]):
            raise CommandError("expected a suite and at least one --system")
        suite = access_suite(team_id=team.id, name=options["suite"])
        pool = pool_snapshot(team.id, options["pool"])
        given = {
            "pool": pool.name,
            "systems": systems_named(options["system"], pool),
            "families": options["family"],
            "max_tasks": options["tasks"],
            "split": options["split"],
            "seed": options["seed"],
            "grader": options["grader"],
            "is_calibration": options["calibration"],
            "grade_every_step": options["grade_every_step"],
            "parallel_runs": options["parallel"],
            "max_cost_micros": _micros(options["max_cost"]),
        }
        values = {name: value for name, value in given.items() if value is not None}
        version = access_version(suite, options["suite_version"])
        found = evaluation_estimate(version=version, values=values)
        most = found.highest_micros
        unknown = "unknown, because a price is missing"
        words = unknown if most is None else f"at most ${usd_text(most)}, retries apart"
        if found.likely_micros is not None:
            words += f"; about ${usd_text(found.likely_micros)} by earlier results"
        self.stderr.write(f"{found.runs} runs; cost: {words}")
        if not options["yes"] and sys.stdin.isatty():
            self._ask()
        return evaluation_start(version=version, values=values, actor=ACTOR)

    def _ask(self) -> None:
        """Raise CommandError unless the person at the terminal wants it."""
        self.stderr.write("Start? [y/N] ", ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandError("not started")

    def _wait(self, evaluation: Evaluation) -> None:
        """Wait until it has ended, and drive it while no process of the site does."""
        shown = self._shown(evaluation)
        while _reload(evaluation).state != JobState.DONE:
            if any(not each.is_expired for each in site_status().processes):
                next(shown)
                time.sleep(LOOK_S)
            else:
                asyncio.run(_execute(evaluation, shown))

    def _shown(self, evaluation: Evaluation) -> Iterator[None]:
        """Write a line of progress now and then, whenever the next item is taken."""
        begin, said_at = time.monotonic(), 0.0
        first = evaluation.graded
        while True:
            now = time.monotonic()
            if now - said_at >= SAY_S:
                said_at = now
                progress = _reload(evaluation)
                done = progress.graded - first
                left = progress.total - progress.graded
                time_left = (now - begin) / done * left if done else None
                words = "" if time_left is None else f", {time_left:.0f} s left"
                self.stderr.write(
                    f"{progress.graded} of {progress.total} results, "
                    f"${usd_text(progress.cost_micros)}{words}"
                )
            yield

    def _report(self, evaluation: Evaluation, options: dict[str, Any]) -> None:
        evaluation = _reload(evaluation)
        report = report_make(evaluation)
        self.stdout.write(report_markdown(report))
        if path := options["json"]:
            values = orjson.dumps(report_values(report), option=orjson.OPT_INDENT_2)
            path.write_bytes(values)
        if path := options["csv"]:
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(results_csv(report, result_rows(evaluation)))
        if path := options["inspect"]:
            _write_inspect_logs(report, path)
        if evaluation.outcome != EvaluationOutcome.COMPLETED:
            ended = EvaluationOutcome(evaluation.outcome).label.lower()
            why = f": {evaluation.error}" if evaluation.error else ""
            raise CommandError(f"the evaluation ended early, {ended}{why}")


def _write_inspect_logs(report: Report, path: Path) -> None:
    is_one = len(report.systems) == 1
    for place in range(len(report.systems)):
        numbered = path.with_stem(f"{path.stem}-{place + 1}")
        with (path if is_one else numbered).open("wb") as file:
            file.writelines(inspect_log(report, place))


def _micros(dollars: str | None) -> int | None:
    if dollars is None:
        return None
    if (micros := micros_of_usd(dollars)) is None:
        raise CommandError("--max-cost: expected dollars, such as 2.50")
    return micros


def _reload(evaluation: Evaluation) -> Evaluation:
    return access_evaluation(team_id=evaluation.team_id, evaluation_id=evaluation.id)


async def _execute(evaluation: Evaluation, shown: Iterator[None]) -> None:
    """Drive an evaluation in this process, with an executor of its own."""
    await open_executor(ProcessKind.WORKER)
    try:
        await asyncio.to_thread(_drive, evaluation, shown)
    finally:
        await close_executor()


def _drive(evaluation: Evaluation, shown: Iterator[None]) -> None:
    rows = evaluation_list(evaluation.team_id).filter(id=evaluation.id)
    # No other process has a lease, so whoever has claimed it is dead.
    rows.filter(state=JobState.RUNNING).update(state=JobState.WAITING)
    try:
        while (claimed := job_claim(rows)) is not None:
            with closing(evaluation_steps(claimed)) as steps:
                for _ in steps:
                    next(shown)
    finally:
        connections.close_all()
