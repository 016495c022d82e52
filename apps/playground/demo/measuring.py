"""Makes the files of `measured`: trains the demo's planner, and measures it.

Needs a process of the site that has nothing else to do, and takes minutes.
"""

from __future__ import annotations

import time

from apps.accounts.models import Team
from apps.audit.models import JobState
from apps.core.errors import ConductorError
from apps.evaluation.models import Evaluation, SuiteVersion
from apps.evaluation.selectors import access_evaluation
from apps.evaluation.services import evaluation_export, evaluation_start
from apps.playground.demo.measured import (
    ACTOR,
    EVALUATION_FILE,
    FOLDER,
    PLANNER_FILE,
    POOL,
    TIERS,
)
from apps.pools.models import Pool
from apps.pools.selectors import planner_version, pool_list, pool_snapshot
from apps.pools.services import planner_version_use
from apps.training.selectors import access_training
from apps.training.services import planner_written, training_start
from apps.training.trainings.models import Training
from apps.training.trainings.settings import gate_systems

EXPLORE_RUNS, NEAR_BEST_RUNS, PARALLEL_RUNS = 1_600, 1_600, 48
SEED = 7
"""That of the suite's tasks, chosen before anything was measured."""
UNUSED_TASKS = 10
"""Of the training's own comparison, which the evaluation replaces."""
LOOK_INTERVAL_S = 0.5


class MeasurementBroke(ConductorError):
    """A training or evaluation did not come to its end."""


def measured_make(team: Team, suite_version: SuiteVersion) -> Evaluation:
    """Train the pool's planner, measure the tiers that plan with it, write the files.

    Takes minutes, and needs a process of the site. Raises: MeasurementBroke.
    """
    pool = pool_list(team.id).get(name=POOL)
    training = _trained(pool, suite_version)
    number = training.version or 0
    planner_version_use(
        pool=pool,
        number=number,
        tiers=TIERS,
        actor=ACTOR,
        reason="It is measured next.",
    )
    evaluation = _evaluated(pool, suite_version, training)
    FOLDER.mkdir(exist_ok=True)
    version = planner_version(pool, number)
    PLANNER_FILE.write_bytes(planner_written(version, training.best_by_family))
    with EVALUATION_FILE.open("wb") as file:
        file.writelines(evaluation_export(evaluation))
    return evaluation


def _trained(pool: Pool, suite_version: SuiteVersion) -> Training:
    values = {
        "explore_runs": EXPLORE_RUNS,
        "near_best_runs": NEAR_BEST_RUNS,
        "held_out_tasks": UNUSED_TASKS,
        "parallel_runs": PARALLEL_RUNS,
        "seed": SEED,
    }
    training = training_start(
        pool=pool, suite_version=suite_version, values=values, actor=ACTOR
    )
    while training.state != JobState.DONE:
        time.sleep(LOOK_INTERVAL_S)
        training = access_training(training.team_id, training.id)
    if training.error:
        raise MeasurementBroke(f"the training ended: {training.error}")
    return training


def _evaluated(
    pool: Pool, suite_version: SuiteVersion, training: Training
) -> Evaluation:
    """Compare the tiers with what a training compares its versions with."""
    snapshot = pool_snapshot(pool.team_id, pool.name)
    _, *rivals = gate_systems(
        None,
        version=training.version or 0,
        present=None,
        best=training.best_worker,
        workers=[worker.name for worker in snapshot.chat_workers],
        max_steps=snapshot.tiers["ultra"].max_steps,
    )
    values = {
        "pool": POOL,
        "systems": [*({"kind": "tier", "tier": name} for name in TIERS), *rivals],
        "parallel_runs": PARALLEL_RUNS,
        "seed": SEED,
    }
    evaluation = evaluation_start(version=suite_version, values=values, actor=ACTOR)
    while evaluation.state != JobState.DONE:
        time.sleep(LOOK_INTERVAL_S)
        evaluation = access_evaluation(
            team_id=evaluation.team_id, evaluation_id=evaluation.id
        )
    if evaluation.error:
        raise MeasurementBroke(f"the evaluation ended: {evaluation.error}")
    return evaluation
