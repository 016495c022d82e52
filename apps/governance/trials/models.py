"""Rows of trials: a draft, how far it was tried, and the runs that it affects."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team
from apps.audit.models import BackgroundJob, JobState
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet


class TrialEnd(models.TextChoices):
    """How a trial ended."""

    COMPLETED = "completed", "Completed"
    """All runs were tried."""
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Failed"
    """It could not go on; `error` says why."""


class TriedOutcome(models.TextChoices):
    """What rules would have done to a run."""

    DENIED = "denied", _("Stopped")
    HELD = "held", _("Held for an approval")
    CHANGED = "changed", _("Changed")
    UNKNOWN = "unknown", _("Could not be tried")
    """Its prompt or its model is not there any more."""


class PolicyTrial(BackgroundJob):
    """A draft policy that is tried on the newest runs of a team."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    document = models.JSONField()
    """The draft: a `policies.rules.PolicyDocument`, without what is not given."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the draft as JSON with sorted names and without spaces, in hex."""
    asked = models.PositiveIntegerField()
    """How many of the newest runs it was to be tried on."""
    total = models.PositiveIntegerField()
    """Those of them that there were."""
    tried = models.PositiveIntegerField(default=0)
    """Runs that it was tried on, those of the next four counts included."""
    denied = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(default=0)
    by_rule = models.JSONField(default=dict)
    """For each rule that is a reason: numbers of runs by their outcomes."""
    last_run_id = models.UUIDField(null=True)
    """The oldest run that was tried. NULL: none was. Older ones follow."""
    outcome = models.CharField(max_length=9, choices=TrialEnd.choices, default="")
    """Empty: it has not ended."""
    error = models.CharField(max_length=300, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["PolicyTrial"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["team", "id"], name="policy_trial_by_team")]
        constraints = [
            models.UniqueConstraint(
                fields=["team"],
                condition=~Q(state=JobState.DONE),
                name="one_open_policy_trial",
            )
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def started_by(self) -> str:
        """Return the name of the person who started it."""
        return str(self.requested_by.get("display", ""))


class AffectedRun(models.Model):
    """A run that a draft policy would not have let pass as it did."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    trial = models.ForeignKey(
        PolicyTrial, models.CASCADE, related_name="affected", db_index=False
    )
    place = models.PositiveIntegerField()
    """From 0: the newest run that was tried."""
    run_id = models.UUIDField()
    outcome = models.CharField(max_length=7, choices=TriedOutcome.choices)
    reasons = models.JSONField()
    """Pairs of a rule's name and what it says; the name is empty if no rule does."""

    objects = TeamQuerySet["AffectedRun"].as_manager()

    class Meta:
        ordering = ("place",)
        constraints = [
            models.UniqueConstraint(
                fields=["trial", "place"], name="affected_run_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.outcome}"
