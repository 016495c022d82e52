"""Reads of trainings and versions of conductors, of a given team."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Sum
from django.db.models.functions import Coalesce

from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.training.conductor.models import (
    ConductorRollout,
    ConductorTraining,
    ConductorVersion,
)


def conductor_training_list(team_id: UUID) -> TeamQuerySet[ConductorTraining]:
    """Return the trainings of a team's conductors, the newest first."""
    rows = ConductorTraining.objects.for_team(team_id).order_by("-id")
    return rows.select_related("pool", "suite_version__suite", "gate", "version")


def access_conductor_training(team_id: UUID, training_id: UUID) -> ConductorTraining:
    """Return a training of the team. Raises: NotFound."""
    found = conductor_training_list(team_id).filter(id=training_id).first()
    if found is None:
        raise NotFound("this team has no such training")
    return found


def conductor_training_cost(training: ConductorTraining) -> int:
    """Return what the runs of a training cost so far, in micro-dollars.

    A run that goes on counts as what it may cost at most.
    """
    gate = training.gate
    return rollouts_cost(training) + (gate.cost_micros if gate else 0)


def rollouts_cost(training: ConductorTraining) -> int:
    """Return the part of that which the conductor's own plans cost."""
    rows = ConductorRollout.objects.for_team(training.team_id)
    total = Coalesce(Sum("cost_micros"), 0)
    found: int = rows.filter(training=training).aggregate(sum=total)["sum"]
    return found


def conductor_version_list(team_id: UUID) -> TeamQuerySet[ConductorVersion]:
    """Return the versions of a team's conductors, the newest first."""
    rows = ConductorVersion.objects.for_team(team_id).order_by("-number")
    return rows.select_related("team", "pool", "training", "conductor")


def access_conductor_version(team_id: UUID, number: int) -> ConductorVersion:
    """Return a version of the team's conductors. Raises: NotFound."""
    found = conductor_version_list(team_id).filter(number=number).first()
    if found is None:
        raise NotFound(f"this team has no version {number} of a conductor")
    return found
