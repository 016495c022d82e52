"""Trainings of light planners, and where each stands."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team, User
from apps.audit.models import BackgroundJob
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.evaluation.models import Evaluation, SuiteVersion
from apps.pools.models import Pool


class Stage(models.TextChoices):
    """What a training does."""

    EXPLORE = "explore", _("Exploring")
    """Runs plans by chance on training tasks."""
    FIT = "fit", _("Fitting")
    NEAR_BEST = "near_best", _("Exploring near the best")
    """Runs plans that the first fit thinks well of."""
    REFIT = "refit", _("Fitting again")
    GATE = "gate", _("Measuring")
    """Compares it with the others on held-out tasks."""
    END = "end", _("Ended")


class TrainingOutcome(models.TextChoices):
    """How a training ended."""

    USED = "used", _("In use")
    """It was better, and tiers plan with it."""
    BETTER = "better", _("Better, not in use")
    NOT_BETTER = "not_better", _("Not better")
    CANCELLED = "cancelled", _("Cancelled")
    BUDGET = "budget", _("Cost limit reached")
    FAILED = "failed", _("Failed")
    """It could not go on; `error` says why."""


class Training(BackgroundJob):
    """One training of a pool's light planner."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    pool = models.ForeignKey(Pool, models.CASCADE, related_name="+")
    suite_version = models.ForeignKey(SuiteVersion, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    """Who started it: its runs are theirs."""
    settings = models.JSONField()
    """A `TrainingPlan`."""
    stage = models.CharField(max_length=9, choices=Stage.choices, default=Stage.EXPLORE)
    exploration = models.ForeignKey(
        Evaluation, models.SET_NULL, null=True, related_name="+"
    )
    near_best = models.ForeignKey(
        Evaluation, models.SET_NULL, null=True, related_name="+"
    )
    gate = models.ForeignKey(Evaluation, models.SET_NULL, null=True, related_name="+")
    version = models.PositiveIntegerField(null=True)
    """Number of the light planner's version that it has fitted last."""
    curve = models.JSONField(default=list)
    """Points `{"stage", "runs", "log_loss", "expected"}`, in order; see `fit_pool`."""
    best_worker = models.CharField(max_length=64, default="")
    """Who was right most often alone, as the learning data had it at the last fit."""
    best_by_family = models.JSONField(default=dict)
    """The same, by family."""
    embedding_cost_micros = models.PositiveBigIntegerField(default=0)
    """What the calls for the vectors of prompts cost so far; without a price 0."""
    outcome = models.CharField(
        max_length=10, choices=TrainingOutcome.choices, default=""
    )
    """Empty: it has not ended."""
    error = models.CharField(max_length=300, default="")
    is_cancelled = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Training"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["team", "id"], name="training_by_team")]

    def __str__(self) -> str:
        return f"{self.id} {self.stage}"
