"""A tiny world in which one of three workers is always right.

A conductor is fitted on plans with all three, then reinforced: it must find the one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from apps.engine.errors import PlanRejected
from apps.planners.list_plan_parser import parse_lists
from apps.training.conductor.protocol import SampledPlan
from apps.training.conductor.rewards import PlanOutcome, RewardSettings, plan_reward
from apps.training.conductor.training_folder import (
    BASE,
    FITTED,
    FittingExample,
    GrpoJob,
    RolloutTask,
    SftJob,
    TinyBase,
    TrainerStage,
    TrainingJob,
    write_folder,
)

WORKERS = ("atlas", "birch", "cedar")
RIGHT = "cedar"
PLAIN = RewardSettings()
GRPO = GrpoJob(
    iterations=20,
    questions=4,
    group=16,
    learning_rate=1e-3,
    max_tokens=48,
    micro_batch=64,
    save_every=100,
    entropy_floor=0.0,
    reward_fall=1.0,
)
"""Larger steps than a large model's, and nothing that ends it."""
JOB = TrainingJob(
    base=TinyBase(hidden=64, layers=2),
    stages=(TrainerStage.SFT, TrainerStage.GRPO),
    sft=SftJob(steps=60, learning_rate=4e-3, batch=8, group=3, save_every=20),
    grpo=GRPO,
)


def prompt(number: int) -> str:
    """Return what a conductor is asked, in short."""
    cards = "\n".join(
        f"Model {place}: price {9 - 4 * place}, solve 5, guided 6, check 4, plan 5"
        for place in range(len(WORKERS))
    )
    return f"{cards}\nSteps: at most 3\n\nWhat is {number} + {number + 2}?"


def reply(worker: int) -> str:
    """Return a plan of one step."""
    return (
        f'Solve.\nmodel_id = [{worker}]\nsubtasks = ["Answer the question."]\n'
        "access_list = [[]]"
    )


EXAMPLES = [
    FittingExample(str(n), prompt(n), tuple(map(reply, range(len(WORKERS)))))
    for n in range(8)
]
TASKS = [RolloutTask(str(n), prompt(n)) for n in range(8)]


def graded(plans: Sequence[SampledPlan]) -> list[float | None]:
    """Reward plans as the site does; the right worker's answer is right."""
    return [plan_reward(_outcome(each.text), PLAIN) for each in plans]


def _outcome(text: str) -> PlanOutcome:
    try:
        plan = parse_lists(text, WORKERS)
    except PlanRejected:
        return PlanOutcome(is_plan=False)
    if plan is None:
        return PlanOutcome(is_plan=False)
    return PlanOutcome(is_plan=True, grade=float(plan.steps[-1].worker == RIGHT))


def none_of(plans: Sequence[SampledPlan]) -> list[float | None]:
    """Every worker failed."""
    return [None for _ in plans]


def write_job(folder: Path, job: TrainingJob = JOB) -> Path:
    """Write a folder for a trainer, and return it."""
    write_folder(folder, job, examples=EXAMPLES, tasks=TASKS)
    return folder


def continued(fitted: Path, folder: Path, **grpo: float) -> Path:
    """Return a folder in which the fitting is done already, and GRPO is as said."""
    settings = {**json.loads(json.dumps(JOB.document()))["grpo"], **grpo}
    write_job(folder, replace(JOB, grpo=GrpoJob(**settings)))
    for name in (BASE, FITTED):
        shutil.copytree(fitted / name, folder / name)
    return folder
