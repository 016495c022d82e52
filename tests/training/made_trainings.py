"""A version of a light planner and its training, made up: for addresses and lists."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.evaluation.selectors import access_evaluation
from apps.pools.selectors import access_pool
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.models import Training
from apps.training.trainings.models import Stage, TrainingOutcome
from apps.training.trainings.settings import TrainingPlan
from tests.factories import ACTOR


def make_training(
    team: Team, pool_id: UUID, evaluation_id: UUID, worker: str = "a"
) -> dict[str, Any]:
    """Add both; return their ids by the names that addresses use."""
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
    return {"training_id": training.id, "number": version.number}
