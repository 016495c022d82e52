"""Versions of planners and conductors with their trainings, made up: for addresses."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.core.ids import new_id
from apps.evaluation.selectors import access_evaluation
from apps.pools.models import BrokenPromise, PlannerVersion
from apps.pools.selectors import access_pool
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    RolloutState,
)
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.models import (
    ConductorRollout,
    ConductorTraining,
    ConductorVersion,
    Training,
)
from apps.training.trainings.models import Stage, TrainingOutcome
from apps.training.trainings.settings import TrainingPlan
from tests.factories import ACTOR


def make_training(
    team: Team, pool_id: UUID, evaluation_id: UUID, worker: str = "a"
) -> dict[str, Any]:
    """Add a planner, its training and a promise that it broke; return their ids.

    They have the names that addresses use.
    """
    pool = access_pool(team.id, pool_id)
    fit = PlannerFit(500, 900, 3, (worker,), "0" * 64)
    version = planner_version_add(
        pool=pool, stored=worker.encode(), fit=fit, actor=ACTOR
    )
    evaluation = access_evaluation(team_id=team.id, evaluation_id=evaluation_id)
    training = Training.objects.create(
        team=team,
        pool=pool,
        suite_version=evaluation.version,
        settings=TrainingPlan().values(),
        state=JobState.DONE,
        stage=Stage.END,
        outcome=TrainingOutcome.BETTER,
        version=version.number,
        exploration=evaluation,
        requested_by=actor_facts(ACTOR),
        beat_at=timezone.now(),
    )
    promise = add_broken_promise(version, worker)
    return {
        "training_id": training.id,
        "number": version.number,
        "promise_id": promise.id,
    }


def add_broken_promise(version: PlannerVersion, worker: str) -> BrokenPromise:
    """Let a version have promised wrongly of a worker."""
    return BrokenPromise.objects.create(
        team_id=version.team_id,
        version=version,
        worker=worker,
        ability="answer",
        kind=0,
        run_id=new_id(),
        seen=9.0,
        promised=0.9,
        observed=0.1,
    )


def make_conductor_training(
    team: Team, pool_id: UUID, evaluation_id: UUID, word: str = "a"
) -> dict[str, Any]:
    """Add a version of a conductor, its training and a rollout; return their ids."""
    evaluation = access_evaluation(team_id=team.id, evaluation_id=evaluation_id)
    pool, now = access_pool(team.id, pool_id), timezone.now()
    training = ConductorTraining.objects.create(
        team=team,
        pool=pool,
        suite_version=evaluation.version,
        planner_number=1,
        settings=ConductorTrainingPlan().values(),
        state=JobState.DONE,
        stage=ConductorStage.END,
        outcome=ConductorOutcome.BETTER,
        gate=evaluation,
        requested_by=actor_facts(ACTOR),
        beat_at=now,
    )
    ConductorRollout.objects.create(
        team=team,
        training=training,
        task=evaluation.version.tasks.earliest("index"),
        digest="0" * 64,
        workers=[word],
        state=RolloutState.ENDED,
    )
    version = ConductorVersion.objects.create(
        team=team,
        number=1,
        pool=pool,
        training=training,
        folder=f"{training.id}/model",
        digest="0" * 64,
        size_bytes=1,
        trained_on={
            "base_model": word,
            "method": "full",
            "pool": pool.name,
            "workers": [word],
            "planner_version": 1,
            "suite": evaluation.version.suite.name,
            "suite_version": 1,
            "suite_digest": "0" * 64,
            "data_digest": "0" * 64,
            "settings": training.settings,
            "summary": {},
            "cost_micros": 0,
        },
        created_by=word,
    )
    return {
        "conductor_training_id": training.id,
        "conductor_number": version.number,
    }
