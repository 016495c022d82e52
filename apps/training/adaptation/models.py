"""Graded runs that a version of a light planner has not been fitted on."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet
from apps.pools.models import PlannerVersion
from apps.runs.models import Run


class ObservedRun(models.Model):
    """What a version needs to know of a run, without its texts."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    version = models.ForeignKey(PlannerVersion, models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    kind = models.PositiveIntegerField(null=True)
    """Of its prompt, by the version. NULL: the prompt is unlike all that it knows."""
    steps = models.JSONField()
    """Worker, role, access, grade (null: none) and fingerprint of each; the grade of
    the last one is the run's."""
    promised = models.FloatField(null=True)
    """Success that the version promised of its plan, from 0 to 1. NULL: it was not
    planned by this version."""
    grade = models.FloatField()
    """Of the run, from 0 to 1, at the last look: people may change their minds."""
    answered_at = models.DateTimeField()

    objects = TeamQuerySet["ObservedRun"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "run"], name="observed_run_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.version_id} {self.run_id}"
