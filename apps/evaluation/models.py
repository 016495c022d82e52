"""Suites of tasks, evaluations, and what each system did with each task.

Tasks are encrypted. Results hold no text: prompts and answers are in the runs, under
their retention.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team, User
from apps.audit.models import BackgroundJob
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.evaluation.ab.models import ABTest as ABTest
from apps.evaluation.candidate_tests import CandidateTest as CandidateTest
from apps.evaluation.production.models import OutcomeProgress as OutcomeProgress
from apps.evaluation.production.models import RunOutcome as RunOutcome
from apps.evaluation.shadow.models import MirroredRun as MirroredRun
from apps.evaluation.shadow.models import ShadowTest as ShadowTest
from apps.runs.models import Run

NAME_LENGTH = 80


class Suite(models.Model):
    """A named collection of tasks, in versions."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    name = models.CharField(max_length=NAME_LENGTH)
    is_simulated = models.BooleanField(default=False)
    """Its tasks are of the simulated benchmark; reports say so."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["Suite"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="suite_name_is_unique_in_team"
            )
        ]

    def __str__(self) -> str:
        return self.name


class SuiteVersion(models.Model):
    """The tasks of a suite at one time. They never change."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    suite = models.ForeignKey(Suite, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    """From 1."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the tasks in hexadecimal; see `suites/storage.py`."""
    task_count = models.PositiveIntegerField()
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["SuiteVersion"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["suite", "number"], name="suite_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.suite_id} v{self.number}"


class StoredTask(models.Model):
    """A task of a version. Its prompt and verifier are encrypted."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    version = models.ForeignKey(SuiteVersion, models.CASCADE, related_name="tasks")
    index = models.PositiveIntegerField()
    """From 0, in the order of the file."""
    key = models.CharField(max_length=100)
    """The task's own id."""
    family = models.CharField(max_length=60)
    split = models.CharField(max_length=8)
    needs_grader = models.BooleanField(default=False)
    """A model judges its answers."""
    needs_sandbox = models.BooleanField(default=False)
    """The code of its answers is run."""
    sealed = models.BinaryField()

    objects = TeamQuerySet["StoredTask"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "index"], name="task_is_unique_in_version"
            )
        ]

    def __str__(self) -> str:
        return self.key


class EvaluationOutcome(models.TextChoices):
    """How an evaluation ended."""

    COMPLETED = "completed", _("Completed")
    """Every system has answered, or failed on, every task."""
    CANCELLED = "cancelled", _("Cancelled")
    BUDGET = "budget", _("Cost limit reached")
    FAILED = "failed", _("Failed")
    """It could not go on; `error` says why."""


class Evaluation(BackgroundJob):
    """Several systems on the same tasks of one suite, with one pool."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    version = models.ForeignKey(
        SuiteVersion, models.CASCADE, related_name="evaluations"
    )
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    """Who started it: its runs are theirs."""
    settings = models.JSONField()
    """An `EvaluationSettings`, systems included."""
    outcome = models.CharField(
        max_length=10, choices=EvaluationOutcome.choices, default=""
    )
    """Empty: it has not ended."""
    error = models.CharField(max_length=300, default="")
    total = models.PositiveIntegerField(default=0)
    """Results that it is to have; 0: they have not been counted."""
    graded = models.PositiveIntegerField(default=0)
    """Results that have ended, like `cost_micros` up to a second behind them."""
    cost_micros = models.PositiveBigIntegerField(default=0)
    has_simulated_pool = models.BooleanField(default=False)
    """All workers of its pool were simulated when it began."""
    is_cancelled = models.BooleanField(default=False)
    """Somebody has cancelled it; the process that drives it takes note."""
    imported_from = models.JSONField(null=True)
    """The `file` that it was imported from, and its `digest` (SHA-256). Its results
    have no runs here. NULL: this site ran it."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Evaluation"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["team", "id"], name="evaluation_by_team")]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def is_simulated(self) -> bool:
        """Say whether its figures are of simulated workers, or of tasks for them."""
        return self.has_simulated_pool or self.version.suite.is_simulated


class ResultState(models.TextChoices):
    """Where one task of one system stands."""

    WAITING = "waiting", _("Waiting")
    STARTED = "started", _("Started")
    """Its run may be on record."""
    GRADING = "grading", _("Being graded")
    """Its run has an answer, which a model judges."""
    RIGHT = "right", _("Right")
    WRONG = "wrong", _("Wrong")
    FAILED = "failed", _("Failed")
    """Its run ended without an answer; `cause` says why."""


IN_PROGRESS = (ResultState.STARTED, ResultState.GRADING)
GRADED = (ResultState.RIGHT, ResultState.WRONG, ResultState.FAILED)


class EvaluationResult(models.Model):
    """What one system did with one task."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    evaluation = models.ForeignKey(
        Evaluation, models.CASCADE, related_name="results", db_index=False
    )
    place = models.PositiveIntegerField()
    """From 0: tasks in their order, and for each task the systems in theirs."""
    system = models.PositiveSmallIntegerField()
    """Place of the system in the settings."""
    task = models.ForeignKey(
        StoredTask, models.CASCADE, related_name="+", db_index=False
    )
    state = models.CharField(
        max_length=8, choices=ResultState.choices, default=ResultState.WAITING
    )
    run_id = models.UUIDField(default=new_id)
    """Of its run, given before the run begins: so it never begins twice."""
    grading_run_id = models.UUIDField(null=True)
    """Of the run that judges its answer. NULL: no model does, or not yet."""
    grading_cost_micros = models.PositiveBigIntegerField(default=0)
    """Of that run; what is set aside for it while it goes on."""
    cause = models.CharField(max_length=200, default="")
    """Why it is not right, in words."""
    is_unplanned = models.BooleanField(default=False)
    """The plan could not be used, so the fallback worker answered."""
    rejected_plans = models.PositiveSmallIntegerField(default=0)
    """Calls of the conductor that led to no plan."""
    plan_faults = models.JSONField(default=dict)
    """Why they did not: counts by fault. Results of before it was kept have none."""
    steps = models.PositiveSmallIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    """Input and output, the conductor's included."""
    cost_micros = models.PositiveBigIntegerField(default=0)
    """The known part, in micro-dollars; what is set aside while it is started."""
    has_unknown_cost = models.BooleanField(default=False)
    latency_ms = models.PositiveBigIntegerField(default=0)
    workers = models.JSONField(null=True)
    """Of an imported result: the workers of its steps. NULL: its run has them."""

    objects = TeamQuerySet["EvaluationResult"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "place"], name="result_is_unique"
            )
        ]
        indexes = [
            models.Index(
                fields=["evaluation", "state", "place"], name="result_by_state"
            )
        ]

    def __str__(self) -> str:
        return f"{self.evaluation_id} {self.place} {self.state}"

    @property
    def current_run_id(self) -> uuid.UUID:
        """Return the run that it waits for: its own, or the one that judges it."""
        return self.grading_run_id or self.run_id


class StepGrade(models.Model):
    """Whether the answer of a step before the last one was right, by the verifier.

    The grade of the last step is the state of the result.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    round = models.PositiveSmallIntegerField()
    step = models.PositiveSmallIntegerField()
    """Index of the step in its round, from 0."""
    grade = models.FloatField()
    """From 0, wrong, to 1, right."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["StepGrade"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "round", "step"], name="step_grade_is_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(grade__gte=0) & models.Q(grade__lte=1),
                name="step_grade_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.round}.{self.step} {self.grade}"
