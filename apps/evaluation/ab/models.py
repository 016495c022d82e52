"""A/B tests. Which runs are in one, and in which arm, is on record of the runs."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_noop as _

from apps.core.scoping import TeamQuerySet
from apps.evaluation.candidate_tests import CandidateTest


class ABOutcome(models.TextChoices):
    """How an A/B test ended."""

    COMPLETED = "completed", _("Completed")
    """Its time is over, or it has as many runs as it was to."""
    STOPPED = "stopped", _("Stopped")
    """A person or a key stopped it, or promoted the candidate."""
    FAILED = "failed", _("Failed")
    """The candidate could not answer any more; `error` says why."""


class ABTest(CandidateTest):
    """A tier as it is (a) answers some keys, and a candidate (b) the others.

    `settings` is an `ABSettings`.
    """

    SUBJECT = "ab_test"

    pool = models.CharField(max_length=100)
    """Of the tier; as the settings say, like the next one."""
    tier = models.CharField(max_length=10)
    outcome = models.CharField(max_length=10, choices=ABOutcome.choices, default="")
    """Empty: it is under way."""
    requested_by = models.JSONField(default=dict)
    """The actor, with the context of the request."""

    objects = TeamQuerySet["ABTest"].as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["team", "pool", "tier"],
                condition=models.Q(outcome=""),
                name="one_ab_test_of_each_tier",
            )
        ]
        indexes = [models.Index(fields=["team", "id"], name="ab_test_by_team")]

    def __str__(self) -> str:
        return f"{self.name} {self.outcome or 'under way'}"

    @property
    def is_open(self) -> bool:
        """Say whether it is under way."""
        return not self.outcome
