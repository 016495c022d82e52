"""Reads of learning data and of the consent to it, of a given team."""

from __future__ import annotations

from uuid import UUID

from apps.training.learning_data.counts import (
    FEWEST_RUNS,
    LearningCount,
    PoolLearning,
    learning_counts,
)
from apps.training.learning_data.reading import learning_records, learning_runs
from apps.training.learning_data.tally import LearningTally
from apps.training.models import TrainingSettings

__all__ = [
    "FEWEST_RUNS",
    "LearningCount",
    "LearningTally",
    "PoolLearning",
    "learning_counts",
    "learning_records",
    "learning_runs",
    "training_settings",
]


def training_settings(team_id: UUID) -> TrainingSettings:
    """Return the settings of a team; those of one that never set any say no."""
    found = TrainingSettings.objects.for_team(team_id).first()
    return found or TrainingSettings(team_id=team_id)
