"""Trainings of conductors, the plans they ran, and the versions that came of them.

Nothing here holds a prompt or a plan's text: those are in the training's folder while
it runs, and in the runs, under their retention.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team, User
from apps.audit.models import BackgroundJob
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.evaluation.models import Evaluation, StoredTask, SuiteVersion
from apps.pools.models import Conductor, Pool


class ConductorStage(models.TextChoices):
    """What a training of a conductor does."""

    EXAMPLES = "examples", _("Writing examples")
    """The light planner's near-best plans of the training tasks."""
    SFT = "sft", _("Learning from examples")
    GRPO = "grpo", _("Learning from its own plans")
    """Plans of the conductor are run on the pool, and their answers graded."""
    RECURSION = "recursion", _("Learning to plan once more")
    """It also sees the answer of a plan that ran, and keeps it or plans again."""
    SERVE = "serve", _("Waiting for its server")
    """The weights are there; a person serves them and publishes the version."""
    GATE = "gate", _("Measuring")
    """Compares it with the others on held-out tasks."""
    END = "end", _("Ended")


class ConductorOutcome(models.TextChoices):
    """How a training of a conductor ended."""

    USED = "used", _("In use")
    """It was better, and its tier plans with it."""
    BETTER = "better", _("Better, not in use")
    NOT_BETTER = "not_better", _("Not better")
    CANCELLED = "cancelled", _("Cancelled")
    BUDGET = "budget", _("Cost limit reached")
    COLLAPSED = "collapsed", _("Collapsed")
    """Its plans lost their variety, or its reward fell; `error` says which."""
    FAILED = "failed", _("Failed")
    """It could not go on; `error` says why."""


class ConductorTraining(BackgroundJob):
    """One training of a conductor for a pool."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    pool = models.ForeignKey(Pool, models.CASCADE, related_name="+")
    suite_version = models.ForeignKey(SuiteVersion, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    """Who started it: its runs are theirs."""
    planner_number = models.PositiveIntegerField()
    """Version of the pool's light planner that it learns from."""
    settings = models.JSONField()
    """A `ConductorTrainingPlan`."""
    stage = models.CharField(
        max_length=9, choices=ConductorStage.choices, default=ConductorStage.EXAMPLES
    )
    stage_since = models.DateTimeField(auto_now_add=True)
    progress = models.JSONField(default=dict)
    """Where it stands; see `progress.py`."""
    curve = models.JSONField(default=list)
    """Points of its way, in order; see `progress.py`."""
    data_digest = models.CharField(max_length=64, default="")
    """SHA-256 of its examples and tasks, in hexadecimal."""
    gate = models.ForeignKey(Evaluation, models.SET_NULL, null=True, related_name="+")
    best_worker = models.CharField(max_length=64, default="")
    """Who was right most often alone, as the learning data had it before the gate."""
    best_by_family = models.JSONField(default=dict)
    """The same, by family."""
    outcome = models.CharField(
        max_length=10, choices=ConductorOutcome.choices, default=""
    )
    """Empty: it has not ended."""
    error = models.CharField(max_length=300, default="")
    is_cancelled = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["ConductorTraining"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["team", "id"], name="conductor_training_by_team")
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.stage}"


class RolloutState(models.TextChoices):
    """Where the run of one plan stands."""

    WAITING = "waiting", "Waiting"
    STARTED = "started", "Started"
    """Its run may be on record."""
    ENDED = "ended", "Ended"


class ConductorRollout(models.Model):
    """One plan that a conductor in training made for one task, run once.

    The same plan for the same task is not run again: its reward is here.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    training = models.ForeignKey(
        ConductorTraining, models.CASCADE, related_name="rollouts", db_index=False
    )
    task = models.ForeignKey(StoredTask, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    """Of the plan; see `Plan.digest`."""
    workers = models.JSONField(default=list)
    """Of its steps, in order."""
    state = models.CharField(
        max_length=8, choices=RolloutState.choices, default=RolloutState.WAITING
    )
    run_id = models.UUIDField(default=new_id)
    """Of its run, given before the run begins: so it never begins twice."""
    grade = models.FloatField(null=True)
    """Of its answer, 0 or 1. NULL: a worker failed, so nothing is known of the plan."""
    reward = models.FloatField(null=True)
    """NULL: as `grade`."""
    cause = models.CharField(max_length=200, default="")
    """Why there is no grade, or why the answer was wrong."""
    cost_micros = models.PositiveBigIntegerField(default=0)
    """What its run cost; until it has ended, what it may cost at most."""

    objects = TeamQuerySet["ConductorRollout"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["training", "task", "digest"], name="rollout_is_run_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.digest[:8]} {self.state}"


class ConductorVersion(models.Model):
    """Weights that a training made. They never change; where they are served may."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    """From 1, in each team."""
    pool = models.ForeignKey(
        Pool, models.SET_NULL, null=True, related_name="conductor_versions"
    )
    """The pool that it was trained for. NULL: it is gone."""
    training = models.OneToOneField(
        ConductorTraining, models.SET_NULL, null=True, related_name="version"
    )
    folder = models.CharField(max_length=200)
    """Of its weights, or its adapter, in `settings.CONDUCTOR_TRAINING_DIR`."""
    is_adapter = models.BooleanField(default=False)
    """True: a LoRA adapter, served on top of the model that `trained_on` names."""
    digest = models.CharField(max_length=64)
    """SHA-256 over its files; see `folders.py`."""
    size_bytes = models.PositiveBigIntegerField()
    trained_on = models.JSONField()
    """Model card: base model, data and its digest, settings, and a summary of the
    curve; see `versions.py`."""
    gate = models.JSONField(null=True)
    """How it did on held-out tasks. NULL: it was not measured."""
    conductor = models.ForeignKey(
        Conductor, models.SET_NULL, null=True, related_name="+"
    )
    """The conductor of the team that it is. NULL: it was not published."""
    served_name = models.CharField(max_length=200, default="")
    """What its server calls it. Empty: it was not published."""
    published_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["ConductorVersion"].as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(
                fields=["team", "number"], name="conductor_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.team_id} conductor {self.number}"

    @property
    def rounds(self) -> int:
        """Return how many plans of a run it was trained to make: one or two."""
        return int(self.trained_on.get("rounds", 1))
