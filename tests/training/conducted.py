"""Trainings of conductors for tests: a scripted trainer, and a made-up planner."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.audit.models import JobState
from apps.pools.models import Pool
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.models import ConductorTraining
from apps.training.selectors import access_conductor_training
from apps.training.services import conductor_training_start
from tests.conftest import Site
from tests.evaluation.samples import suite
from tests.factories import ACTOR
from tests.patience import WORK_PATIENCE_S, eventually
from tests.planners.light.builders import CHECK, model, run, step
from tests.training.test_trainings import pool_of, tasks

SMALL = {
    "base_model": "tiny",
    "training_tasks": 8,
    "sft_steps": 5,
    "grpo_iterations": 3,
    "grpo_questions": 2,
    "grpo_group": 8,
    "held_out_tasks": 10,
    "parallel_runs": 4,
    "margin_percent": 0,
}


def trains_here(settings: Any, folder: Path, trainer: str = "") -> None:
    """Let the site train with the scripted trainer, or with another one of tests."""
    settings.CONDUCTOR_TRAINING_PYTHON = sys.executable
    settings.CONDUCTOR_TRAINING_DIR = str(folder)
    name = f"tests.training.trainers.{trainer}"
    settings.CONDUCTOR_TRAINER = name if trainer else "apps.training.conductor.testing"


def planned_pool(site: Site) -> Pool:
    """Give the pool of the site a light planner, which no tier uses."""
    pool = pool_of(site)
    add_planner(pool)
    return pool


def add_planner(pool: Pool) -> None:
    """Add a version of a light planner, made of made-up runs."""
    names = ("sim-delta", "sim-birch", "sim-gone")
    runs = [
        run(
            step(names[0], grade=number % 2),
            step(names[1], CHECK, (0,), grade=1.0),
            prompt=f"What is {number} * 7?",
        )
        for number in range(40)
    ]
    fit = PlannerFit(40, 80, 2, names, "0" * 64)
    stored = model(*runs, names=names).to_bytes()
    planner_version_add(pool=pool, stored=stored, fit=fit, actor=ACTOR)


def begun(site: Site, **values: object) -> ConductorTraining:
    """Order a training of the site's pool."""
    return conductor_training_start(
        pool=planned_pool(site),
        suite_version=suite(site.cast.team, tasks()),
        values={**SMALL, **values},
        actor=ACTOR,
    )


def reached(
    training: ConductorTraining,
    is_so: Callable[[ConductorTraining], bool],
    patience_s: float = WORK_PATIENCE_S,
) -> ConductorTraining:
    """Wait until something is so of a training; return it as it is then."""

    def look() -> bool:
        found = access_conductor_training(training.team_id, training.pk)
        return is_so(found) or found.state == JobState.DONE

    assert eventually(look, patience_s=patience_s)
    return access_conductor_training(training.team_id, training.pk)


def ended(
    training: ConductorTraining, patience_s: float = WORK_PATIENCE_S
) -> ConductorTraining:
    return reached(training, lambda found: found.state == JobState.DONE, patience_s)


def kept_weights(site: Site, folder: Path, kept: Path) -> ConductorTraining:
    """Return the training of a world, with the files that it left in its folder.

    `folder`: of this test; `kept`: where the files are kept from one test to another.
    """
    training = ConductorTraining.objects.for_team(site.cast.team.id).get()
    present, copy = folder / str(training.id), kept / str(training.id)
    source, target = (copy, present) if copy.exists() else (present, copy)
    shutil.copytree(source, target, copy_function=shutil.copy2)
    return training


def made(
    training: ConductorTraining, patience_s: float = WORK_PATIENCE_S
) -> ConductorTraining:
    """Wait until there are weights."""
    found = reached(training, lambda each: each.stage == "serve", patience_s)
    assert found.stage == "serve", found.error
    return found
