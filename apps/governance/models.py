"""Retention periods of teams, legal holds, versions of policies, and feedback.

Rows of the review queue are in `reviews/models.py`, those of trials in
`trials/models.py`.

Retention and holds have no foreign keys, like the ledger: the texts of a team that has
been deleted are erased in their time too.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.governance.reviews.models import (
    Review,
    ReviewComment,
    ReviewItem,
    ReviewPending,
    ReviewReason,
    ReviewSettings,
    ReviewState,
    Verdict,
)
from apps.governance.trials.models import (
    AffectedRun,
    PolicyTrial,
    TrialEnd,
    TriedOutcome,
)
from apps.governance.types import MAX_DAYS, MIN_DAYS, MIN_IDLE_DAYS

__all__ = [
    "COMMENT_LENGTH",
    "REASON_LENGTH",
    "AffectedRun",
    "LegalHold",
    "PolicyTrial",
    "PolicyVersion",
    "Rating",
    "Retention",
    "Review",
    "ReviewComment",
    "ReviewItem",
    "ReviewPending",
    "ReviewReason",
    "ReviewSettings",
    "ReviewState",
    "RunFeedback",
    "SitePolicyVersion",
    "TrialEnd",
    "TriedOutcome",
    "Verdict",
]

REASON_LENGTH = 500
COMMENT_LENGTH = 2_000


class Retention(models.Model):
    """The retention period of a team, and how far its content is erased."""

    team_id = models.UUIDField(primary_key=True)
    days = models.PositiveIntegerField(null=True)
    """NULL: as the site says, `RETENTION_DAYS`."""
    begins_at = models.DateTimeField(null=True)
    """Until then nothing is erased: the period may have been shortened by mistake."""
    erased_through = models.BigIntegerField(default=0)
    """Seq of the ledger's entry up to which content is erased, except what is on
    hold."""
    conversation_days = models.PositiveIntegerField(null=True)
    """Days without a turn after which a conversation is deleted. NULL: none is."""
    keeps_pinned = models.BooleanField(default=True, db_default=True)
    """True: pinned conversations are not deleted."""
    conversations_begin_at = models.DateTimeField(null=True)
    """Until then no conversation is deleted, as with `begins_at`."""

    objects = TeamQuerySet["Retention"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                # NULL passes a check.
                condition=Q(days__gte=MIN_DAYS) & Q(days__lte=MAX_DAYS),
                name="retention_is_within_its_bounds",
            ),
            models.CheckConstraint(
                condition=Q(conversation_days__gte=MIN_IDLE_DAYS)
                & Q(conversation_days__lte=MAX_DAYS),
                name="conversation_days_are_within_their_bounds",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.days}"


class LegalHold(models.Model):
    """An order that the content of a run, or all of a team, must not be erased."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team_id = models.UUIDField(db_index=True)
    run_id = models.UUIDField(null=True)
    """NULL: everything of the team."""
    reason = models.CharField(max_length=REASON_LENGTH)
    placed_at = models.DateTimeField()
    placed_by = models.CharField(max_length=200)
    """As the ledger names them."""
    released_at = models.DateTimeField(null=True)
    """NULL: it holds."""
    released_by = models.CharField(max_length=200, default="")

    objects = TeamQuerySet["LegalHold"].as_manager()

    class Meta:
        ordering = ("-placed_at", "-id")

    def __str__(self) -> str:
        return f"{self.team_id} {self.reason}"


class PolicyVersion(models.Model):
    """The rules of a team's policy at one version; the newest is in force."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    version = models.PositiveIntegerField()
    document = models.JSONField()
    """A `policies.rules.PolicyDocument`, without what is not given."""
    created_at = models.DateTimeField(auto_now_add=True)
    actor_name = models.CharField(max_length=200)
    """As the ledger names them."""

    objects = TeamQuerySet["PolicyVersion"].as_manager()

    class Meta:
        ordering = ("-version",)
        constraints = [
            models.UniqueConstraint(
                fields=["team", "version"], name="policy_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.team_id} version {self.version}"


class SitePolicyVersion(models.Model):
    """The rules that bind all teams at one version; the newest is in force."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    version = models.PositiveIntegerField(unique=True)
    document = models.JSONField()
    """A `policies.rules.SitePolicyDocument`, without what is not given."""
    created_at = models.DateTimeField(auto_now_add=True)
    actor_name = models.CharField(max_length=200)
    """As the ledger names them."""

    class Meta:
        ordering = ("-version",)

    def __str__(self) -> str:
        return f"site policy version {self.version}"


class Rating(models.TextChoices):
    """What somebody thinks of an answer."""

    UP = "up", "Good"
    DOWN = "down", "Bad"


VERIFIER = "verifier"
"""Who found an outcome: a program of the caller that can tell what is right."""


class RunFeedback(models.Model):
    """What one actor says of a run's answer: a rating, a verified outcome, or both.

    The entry of the rating holds the comment.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    run_id = models.UUIDField(db_index=True)
    actor_type = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    """As the ledger names them."""
    rating = models.CharField(max_length=4, choices=Rating.choices, blank=True)
    """Empty: they only verified the answer."""
    outcome_thousandths = models.PositiveSmallIntegerField(null=True)
    """How right the answer is, of 1,000, as a verifier of the caller found. NULL: it
    was not verified."""
    entry_seq = models.BigIntegerField()
    """The place of the newest entry with a rating in the team's chain."""
    updated_at = models.DateTimeField(auto_now=True)

    objects = TeamQuerySet["RunFeedback"].as_manager()

    class Meta:
        ordering = ("-updated_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "actor_type", "actor_id"],
                name="one_rating_for_each_actor",
            ),
            models.CheckConstraint(
                condition=models.Q(outcome_thousandths__lte=1000),
                name="outcome_is_at_most_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.rating}"
