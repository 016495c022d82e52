"""Shadow tests, and the runs that they mirror.

Rows hold no text: prompts and answers are in the runs, under their retention.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team
from apps.audit.models import BackgroundJob
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.evaluation.candidate_tests import CandidateTest


class ShadowOutcome(models.TextChoices):
    """How a shadow test ended."""

    COMPLETED = "completed", _("Completed")
    """Its time is over, or it has mirrored as many runs as it was to."""
    STOPPED = "stopped", _("Stopped")
    """A person or a key stopped it."""
    BUDGET = "budget", _("Cost limit reached")
    FAILED = "failed", _("Failed")
    """It could not go on; `error` says why."""


class ShadowTest(CandidateTest, BackgroundJob):
    """A share of a tier's runs is run again by a candidate, which answers no caller.

    The candidate's runs are those of its user. `settings` is a `ShadowSettings`.
    """

    SUBJECT = "shadow_test"

    since = models.DateTimeField()
    """Runs that began from then on are mirrored."""
    looked_until = models.UUIDField()
    """Runs with smaller ids have been looked at."""
    outcome = models.CharField(max_length=10, choices=ShadowOutcome.choices, default="")
    """Empty: it has not ended."""
    is_stopped = models.BooleanField(default=False)
    """Somebody has stopped it; the process that drives it takes note."""

    objects = TeamQuerySet["ShadowTest"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["team", "id"], name="shadow_test_by_team")]

    def __str__(self) -> str:
        return f"{self.name} {self.state}"


class MirrorState(models.TextChoices):
    """Where a mirrored run stands."""

    PENDING = "pending", _("Original run in progress")
    WAITING = "waiting", _("Waiting")
    STARTED = "started", _("Candidate's run in progress")
    JUDGED = "judged", _("Being judged")
    """Both answers are there, and a model compares them."""
    DONE = "done", _("Done")
    SKIPPED = "skipped", _("Left out")
    """It could not be mirrored; `cause` says why."""


OPEN = (
    MirrorState.PENDING,
    MirrorState.WAITING,
    MirrorState.STARTED,
    MirrorState.JUDGED,
)
IN_PROGRESS = (MirrorState.STARTED, MirrorState.JUDGED)


class Judgement(models.TextChoices):
    """Which answer is better, as a model judges."""

    ORIGINAL = "original", _("The original answer is better")
    CANDIDATE = "candidate", _("The candidate's answer is better")
    SAME = "same", _("Equally good")


class MirroredRun(models.Model):
    """An original run beside the candidate's run of the same request."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    test = models.ForeignKey(
        ShadowTest, models.CASCADE, related_name="mirrored_runs", db_index=False
    )
    original_run_id = models.UUIDField()
    run_id = models.UUIDField(default=new_id)
    """Of the candidate's run, given before it begins: so it never begins twice."""
    judging_run_id = models.UUIDField(null=True)
    state = models.CharField(
        max_length=8, choices=MirrorState.choices, default=MirrorState.PENDING
    )
    cause = models.CharField(max_length=200, default="")
    """Why it was left out, or why there is no judgement."""
    agrees = models.BooleanField(null=True)
    """Both final answers are equal. NULL: one of the runs has no answer."""
    judgement = models.CharField(max_length=9, choices=Judgement.choices, default="")
    """Empty: no model has judged."""
    original_error = models.CharField(max_length=40, default="")
    """Code of the original run's failure; empty: it has an answer."""
    error = models.CharField(max_length=40, default="")
    original_cost_micros = models.PositiveBigIntegerField(default=0)
    """The known part, in micro-dollars, like the next ones."""
    cost_micros = models.PositiveBigIntegerField(default=0)
    """What is set aside, while the run is in progress."""
    judging_cost_micros = models.PositiveBigIntegerField(default=0)
    has_unknown_cost = models.BooleanField(default=False)
    original_latency_ms = models.PositiveBigIntegerField(default=0)
    latency_ms = models.PositiveBigIntegerField(default=0)
    original_tokens = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)

    objects = TeamQuerySet["MirroredRun"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["test", "original_run_id"], name="run_is_mirrored_once"
            )
        ]
        indexes = [models.Index(fields=["test", "state", "id"], name="mirror_by_state")]

    def __str__(self) -> str:
        return f"{self.original_run_id} {self.state}"

    @property
    def current_run_id(self) -> uuid.UUID:
        """Return the run that it waits for: the candidate's, or the one that judges."""
        return self.judging_run_id or self.run_id
