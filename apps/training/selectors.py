"""Reads of learning data and of the consent to it, of a given team."""

from __future__ import annotations

from uuid import UUID

from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.evaluation.selectors import evaluation_list
from apps.training.adaptation.promises import (
    PlannerPromises,
    access_promise,
    planner_promises,
)
from apps.training.conductor.selectors import (
    access_conductor_training,
    access_conductor_version,
    conductor_training_cost,
    conductor_training_list,
    conductor_version_list,
)
from apps.training.learning_data.counts import (
    FEWEST_RUNS,
    LearningCount,
    PoolLearning,
    learning_counts,
)
from apps.training.learning_data.reading import learning_records, learning_runs
from apps.training.learning_data.subtask_texts import SubtaskOutcome
from apps.training.learning_data.tally import LearningTally
from apps.training.models import Training, TrainingSettings
from apps.training.trainings.estimates import Newcomer, newcomers
from apps.training.trainings.newcomers import changed_in
from apps.training.trainings.site_defaults import calibrated_profiles

__all__ = [
    "FEWEST_RUNS",
    "LearningCount",
    "LearningTally",
    "Newcomer",
    "PlannerPromises",
    "PoolLearning",
    "SubtaskOutcome",
    "access_conductor_training",
    "access_conductor_version",
    "access_promise",
    "access_training",
    "calibrated_profiles",
    "changed_in",
    "conductor_training_cost",
    "conductor_training_list",
    "conductor_version_list",
    "learning_counts",
    "learning_records",
    "learning_runs",
    "newcomers",
    "planner_promises",
    "training_cost",
    "training_list",
    "training_settings",
]


def training_settings(team_id: UUID) -> TrainingSettings:
    """Return the settings of a team; those of one that never set any say no."""
    found = TrainingSettings.objects.for_team(team_id).first()
    return found or TrainingSettings(team_id=team_id)


def training_list(team_id: UUID) -> TeamQuerySet[Training]:
    """Return the trainings of a team, the newest first."""
    rows = Training.objects.for_team(team_id).order_by("-id")
    return rows.select_related("pool", "suite_version__suite")


def access_training(team_id: UUID, training_id: UUID) -> Training:
    """Return a training of the team. Raises: NotFound."""
    found = training_list(team_id).filter(id=training_id).first()
    if found is None:
        raise NotFound("this team has no such training")
    return found


def training_cost(training: Training) -> int:
    """Return what the runs and vectors of a training cost so far, in micro-dollars."""
    ids = [training.exploration_id, training.near_best_id, training.gate_id]
    rows = evaluation_list(training.team_id).filter(id__in=[i for i in ids if i])
    runs: int = sum(rows.values_list("cost_micros", flat=True))
    return runs + training.embedding_cost_micros
