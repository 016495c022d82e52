"""`manage.py planner_train SUITE --team SLUG`: train a pool's light planner.

A process of the site drives the training; this command orders it and waits.
"""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.audit.models import JobState
from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.core.money import micros_of_usd, usd_text
from apps.evaluation.selectors import access_suite, access_version
from apps.pools.selectors import access_pool, planner_version, pool_snapshot
from apps.runs.coordination.site_status import site_status
from apps.training.selectors import access_training, training_cost
from apps.training.services import training_start
from apps.training.trainings.models import Training, TrainingOutcome

ACTOR = Actor("service", "planner_train", "manage.py planner_train")
LOOK_S = 0.5


class Command(BaseCommand):
    """Starts a training, shows its stages, and prints what the gate found."""

    help = "Train the light planner of a pool on a suite; see docs/training.md."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("suite", help="name of the suite")
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--pool", help="name of the pool. Default: the team's")
        parser.add_argument("--explore", type=int, help="runs of plans by chance")
        parser.add_argument("--near-best", type=int, help="runs near the first fit")
        parser.add_argument("--tasks", type=int, help="held-out tasks to measure on")
        parser.add_argument("--parallel", type=int, help="runs at the same time")
        parser.add_argument("--seed", type=int)
        parser.add_argument(
            "--use",
            action="append",
            choices=("mini", "ultra"),
            help="a tier that plans with it if it is better; again and again",
        )
        parser.add_argument(
            "--embeddings", help="embedding worker that tells kinds of prompts apart"
        )
        parser.add_argument("--max-cost", help="of all runs together, in US dollars")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start it, wait for it, and report."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        if not site_status().processes:
            raise CommandError("no process of the site is there to drive the training")
        try:
            training = self._ordered(team, options)
            self.stderr.write(f"training {training.id}")
            self._report(self._awaited(training))
        except ConductorError as exc:
            raise CommandError(exc.message) from exc

    def _ordered(self, team: Team, options: dict[str, Any]) -> Training:
        snapshot = pool_snapshot(team.id, options["pool"])
        most = options["max_cost"]
        given = {
            "explore_runs": options["explore"],
            "near_best_runs": options["near_best"],
            "held_out_tasks": options["tasks"],
            "parallel_runs": options["parallel"],
            "seed": options["seed"],
            "tiers": options["use"],
            "embeddings": options["embeddings"],
            "max_cost_micros": None if most is None else micros_of_usd(most),
        }
        suite = access_suite(team_id=team.id, name=options["suite"])
        return training_start(
            pool=access_pool(team.id, snapshot.id),
            suite_version=access_version(suite, None),
            values={name: value for name, value in given.items() if value is not None},
            actor=ACTOR,
        )

    def _awaited(self, training: Training) -> Training:
        said = ""
        while True:
            training = access_training(training.team_id, training.id)
            if training.stage != said:
                said = training.stage
                self.stderr.write(training.get_stage_display())
            if training.state == JobState.DONE:
                return training
            time.sleep(LOOK_S)

    def _report(self, training: Training) -> None:
        outcome = TrainingOutcome(training.outcome)
        if outcome is TrainingOutcome.FAILED:
            raise CommandError(f"it failed: {training.error}")
        for point in training.curve:
            self.stdout.write(
                f"{point['stage']}: {point['runs']} runs, log loss "
                f"{point['log_loss']}, expected {point['expected']:.3f}"
            )
        if training.version is not None:
            version = planner_version(training.pool, training.version)
            for each in _compared(version.gate):
                self.stdout.write(each)
        cost = usd_text(training_cost(training))
        self.stdout.write(f"{outcome.label}; ${cost}")


def _compared(gate: dict[str, Any] | None) -> list[str]:
    if gate is None:
        return []
    lines = [f"{gate['tasks']} held-out tasks"]
    for each in (gate["new"], *gate["others"]):
        lines.append(
            f"  {each['success']:.3f}  ${usd_text(each['cost_micros'])}  "
            f"{each['tokens']:>6} tokens  {each['name']}"
        )
    return lines
