"""`manage.py conductor_train POOL... --team SLUG --suite NAME`: train conductors.

A process of the site drives each training, one after the other; this command orders
them and waits. A training needs an environment of its own; see docs/training.md.
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
from apps.pools.selectors import access_pool, pool_snapshot
from apps.runs.coordination.site_status import site_status
from apps.training.conductor.models import ConductorOutcome, ConductorStage
from apps.training.models import ConductorTraining
from apps.training.selectors import access_conductor_training, conductor_training_cost
from apps.training.services import conductor_training_start

ACTOR = Actor("service", "conductor_train", "manage.py conductor_train")
LOOK_S = 0.5
OPTIONS = {
    "base_model": "base_model",
    "method": "method",
    "sub_pools": "sub_pools",
    "tasks": "training_tasks",
    "examples": "examples_per_task",
    "sft_steps": "sft_steps",
    "iterations": "grpo_iterations",
    "questions": "grpo_questions",
    "group": "grpo_group",
    "second_round": "recursion_iterations",
    "second_round_prompts": "recursion_prompts",
    "sft_micro_batch": "sft_micro_batch",
    "grpo_micro_batch": "grpo_micro_batch",
    "reward_cost": "reward_cost_percent",
    "held_out": "held_out_tasks",
    "margin": "margin_percent",
    "parallel": "parallel_runs",
    "seed": "seed",
    "tier": "tier",
}
"""Fields of the settings by the names of the options."""


class Command(BaseCommand):
    """Starts trainings, shows where they stand, and says how to publish the weights."""

    help = "Train conductors for pools on a suite; see docs/training.md."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("pools", nargs="+", help="names of pools")
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--suite", required=True, help="name of the suite")
        parser.add_argument("--base-model", help="'tiny', or a model of the site's")
        parser.add_argument("--method", choices=("full", "lora"))
        parser.add_argument("--sub-pools", choices=("fixed", "random"))
        parser.add_argument("--tasks", type=int, help="training tasks at most")
        parser.add_argument("--examples", type=int, help="prompts of each task")
        parser.add_argument("--sft-steps", type=int, help="0: no examples are learned")
        parser.add_argument("--iterations", type=int, help="of GRPO. 0: none")
        parser.add_argument("--questions", type=int, help="of an iteration")
        parser.add_argument("--group", type=int, help="plans of a question")
        parser.add_argument(
            "--second-round", type=int, help="iterations of learning it. 0: none"
        )
        parser.add_argument("--second-round-prompts", type=int, help="at most")
        parser.add_argument(
            "--reward-cost",
            type=int,
            help="points of a hundred that 1,000 dear tokens take from a reward",
        )
        parser.add_argument("--vllm", action="store_true", help="samples the plans")
        parser.add_argument("--sft-micro-batch", type=int, help="fewer: less memory")
        parser.add_argument("--grpo-micro-batch", type=int, help="fewer: less memory")
        parser.add_argument("--held-out", type=int, help="tasks to measure on")
        parser.add_argument("--margin", type=int, help="points of a hundred")
        parser.add_argument("--parallel", type=int, help="runs at the same time")
        parser.add_argument("--seed", type=int)
        parser.add_argument("--tier", choices=("mini", "ultra"))
        parser.add_argument(
            "--use", action="store_true", help="the tier plans with it if it is better"
        )
        parser.add_argument("--max-cost", help="of all runs together, in US dollars")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start them, wait for them, and report."""
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"there is no team {options['team']!r}")
        if not site_status().processes:
            raise CommandError("no process of the site is there to drive the training")
        try:
            trainings = [
                self._ordered(team, name, options) for name in options["pools"]
            ]
            for training in trainings:
                self.stderr.write(f"training {training.id}: {training.pool.name}")
                self._report(self._awaited(training))
        except ConductorError as exc:
            raise CommandError(exc.message) from exc

    def _ordered(
        self, team: Team, pool: str, options: dict[str, Any]
    ) -> ConductorTraining:
        given = {field: options[name] for name, field in OPTIONS.items()}
        if options["max_cost"] is not None:
            given["max_cost_micros"] = micros_of_usd(options["max_cost"])
        given |= {"uses_if_better": options["use"], "uses_vllm": options["vllm"]}
        suite = access_suite(team_id=team.id, name=options["suite"])
        return conductor_training_start(
            pool=access_pool(team.id, pool_snapshot(team.id, pool).id),
            suite_version=access_version(suite, None),
            values={name: value for name, value in given.items() if value is not None},
            actor=ACTOR,
        )

    def _awaited(self, training: ConductorTraining) -> ConductorTraining:
        said = ""
        while True:
            training = access_conductor_training(training.team_id, training.id)
            if (words := _words(training)) != said:
                said = words
                self.stderr.write(words)
            is_made = training.stage == ConductorStage.SERVE
            if is_made or training.state == JobState.DONE:
                return training
            time.sleep(LOOK_S)

    def _report(self, training: ConductorTraining) -> None:
        cost = usd_text(conductor_training_cost(training))
        if training.stage != ConductorStage.SERVE:
            outcome = ConductorOutcome(training.outcome).label
            if training.outcome == ConductorOutcome.FAILED:
                raise CommandError(f"it failed: {training.error}")
            why = f": {training.error}" if training.error else ""
            self.stdout.write(f"{outcome}{why}; ${cost}")
            return
        version = training.version
        self.stdout.write(
            f"version {version.number}, {version.size_bytes:,} bytes, "
            f"SHA-256 {version.digest}; ${cost}"
        )
        self.stdout.write(
            f"next: manage.py conductor_publish {version.number} --team "
            f"{training.team.slug}"
        )


def _words(training: ConductorTraining) -> str:
    stage, at = training.get_stage_display(), training.progress
    if at.get("stage") != training.stage:
        return str(stage)
    figures = ", ".join(
        f"{name} {at[name]:.3f}"
        for name in ("loss", "reward", "validity", "accuracy", "kept", "entropy")
        if at.get(name) is not None
    )
    return f"{stage}: {at['step']} of {at['of']}, {figures}"
