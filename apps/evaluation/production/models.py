"""Judgements of single runs, and how far each team's ledger has been read for them."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet
from apps.pools.models import OutcomeSource, Worker
from apps.pools.worker_figures.profiles import FAMILY_LENGTH
from apps.runs.models import Run


class RunOutcome(models.Model):
    """How the answer of one run was judged, with the worker that gave it."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    worker = models.ForeignKey(Worker, models.CASCADE, related_name="+")
    family = models.CharField(max_length=FAMILY_LENGTH)
    source = models.CharField(max_length=10, choices=OutcomeSource.choices)
    base_url = models.CharField(max_length=500)
    model = models.CharField(max_length=200)
    """Of the worker, by the version of the pool that the run used."""
    right = models.PositiveIntegerField()
    total = models.PositiveIntegerField()

    objects = TeamQuerySet["RunOutcome"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "source"], name="run_outcome_is_unique"
            )
        ]
        # Of one team, run by run: what planners learn from.
        indexes = [models.Index(fields=["team", "run"], name="run_outcome_by_team")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.source} {self.right}/{self.total}"


class OutcomeProgress(models.Model):
    """How far a team's ledger has been read for judgements."""

    team = models.OneToOneField(
        Team, models.CASCADE, primary_key=True, related_name="+"
    )
    seq = models.BigIntegerField()
    """Entries up to this one have been read."""

    objects = TeamQuerySet["OutcomeProgress"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.seq}"
