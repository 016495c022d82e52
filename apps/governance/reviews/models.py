"""Rows of the review queue. What people write is in the ledger, as bodies of entries.

So reasons and comments are erased together with the content of the run.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.runs.models import Run

NAME_LENGTH = 200
"""Of people, as the ledger names them."""


class ReviewReason(models.TextChoices):
    """Why a run is in the queue."""

    ERROR = "error", _("Error")
    """It failed."""
    COST = "cost", _("Cost")
    """It cost more than the team's rule says."""
    POLICY = "policy", _("Policy")
    """A rule of the policy stopped or changed it."""
    DATA_CLASS = "data_class", _("Data class")
    """Its prompt has the data class of the team's rule, or a higher one."""
    FEEDBACK = "feedback", _("Rated bad")
    """Somebody rated its answer as bad."""
    SAMPLE = "sample", _("Sample")
    """It belongs to the share that is always reviewed."""
    MANUAL = "manual", _("Sent by hand")
    """Somebody asked for a review."""


class ReviewState(models.TextChoices):
    """Where a review stands. A reservation is apart: it ends by itself."""

    WAITING = "waiting", "Waiting"
    """Nobody has judged it."""
    SECOND = "second", "Waiting for a second reviewer"
    """One person has; the team wants two."""
    REVIEWED = "reviewed", "Reviewed"
    """It has its verdict."""


OPEN_STATES = (ReviewState.WAITING, ReviewState.SECOND)


class Verdict(models.TextChoices):
    """What a reviewer decides about a run."""

    PASS = "pass", _("Pass")
    NEEDS_CHANGE = "needs_change", _("Needs change")
    FAIL = "fail", _("Fail")


class ReviewSettings(models.Model):
    """Which runs of a team are queued, and how they are judged."""

    team = models.OneToOneField(
        Team, models.CASCADE, primary_key=True, related_name="+"
    )
    version = models.PositiveIntegerField(default=0)
    document = models.JSONField(default=dict)
    """A `reviews.rules.ReviewDocument`, without what is not given."""
    is_watching = models.BooleanField(default=False)
    """True: some rule looks at runs that have ended."""
    watched_from = models.UUIDField(null=True)
    """Runs with this id or a higher one have not all been looked at."""
    updated_at = models.DateTimeField(auto_now=True)
    actor_name = models.CharField(max_length=NAME_LENGTH, default="")
    """Of the last change, as the ledger names them."""

    objects = TeamQuerySet["ReviewSettings"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} version {self.version}"


class ReviewPending(models.Model):
    """A run that had not ended when the look of `feeding.py` passed it."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="+")
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")

    objects = TeamQuerySet["ReviewPending"].as_manager()

    def __str__(self) -> str:
        return f"{self.run_id}"


class ReviewItem(models.Model):
    """A run in the queue; it stays there when it has been reviewed."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    run = models.OneToOneField(Run, models.CASCADE, related_name="+")
    reasons = models.CharField(max_length=120)
    """Values of `ReviewReason`, each between commas, so that one can be searched."""
    state = models.CharField(max_length=10, choices=ReviewState.choices)
    round = models.PositiveSmallIntegerField(default=1)
    """Grows when it is queued again."""
    queued_at = models.DateTimeField()
    """In this round."""
    reserved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    reserved_name = models.CharField(max_length=NAME_LENGTH, default="")
    reserved_until = models.DateTimeField(null=True)
    """Later it is free again, whatever `reserved_by` says."""
    verdict = models.CharField(max_length=12, choices=Verdict.choices, default="")
    """Of this round; of two reviewers the stricter one. Empty: none yet."""
    reviewed_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["ReviewItem"].as_manager()

    class Meta:
        ordering = ("queued_at", "id")
        indexes = [
            # The queue of a team: by state, oldest first.
            models.Index(
                fields=["team", "state", "queued_at"], name="review_item_queue"
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.state}"

    @property
    def reason_values(self) -> list[str]:
        """Return why it is in the queue, as words of `ReviewReason`."""
        return [each for each in self.reasons.split(",") if each]

    @property
    def reason_labels(self) -> list[str]:
        """Return why it is in the queue, as people read it."""
        return [str(ReviewReason(each).label) for each in self.reason_values]

    @property
    def is_open(self) -> bool:
        """Say whether it still needs a verdict."""
        return self.state in OPEN_STATES

    def is_reserved(self, now: datetime) -> bool:
        """Say whether somebody holds it at `now`."""
        return self.reserved_until is not None and now < self.reserved_until

    def is_held_by(self, user_id: object, now: datetime) -> bool:
        """Say whether this person holds it at `now`."""
        return self.is_reserved(now) and self.reserved_by_id == user_id


class Review(models.Model):
    """What one person decided about a run. Its entry holds the reason."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(ReviewItem, models.CASCADE, related_name="reviews")
    round = models.PositiveSmallIntegerField()
    place = models.PositiveSmallIntegerField()
    """1, or 2 of a second reviewer."""
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    reviewer_name = models.CharField(max_length=NAME_LENGTH)
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    scores = models.JSONField(default=dict)
    """By the names of the rubric: 1 to 5, or pass and fail."""
    agrees = models.BooleanField(null=True)
    """Whether a second verdict is that of the first reviewer. NULL: it is the first."""
    is_task = models.BooleanField(default=False)
    """The run is a task for evaluations: its answer passed, or the entry holds the
    right one."""
    waited_s = models.PositiveBigIntegerField()
    """Seconds since it was queued in this round."""
    entry_seq = models.BigIntegerField()
    """The place of its entry in the team's chain."""
    created_at = models.DateTimeField()

    objects = TeamQuerySet["Review"].as_manager()

    class Meta:
        ordering = ("created_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["item", "round", "place"], name="review_place_is_unique"
            ),
            models.UniqueConstraint(
                fields=["item", "round", "reviewer"], name="review_is_by_another_person"
            ),
        ]
        indexes = [
            # Statistics of a period.
            models.Index(fields=["team", "created_at"], name="review_by_time")
        ]

    def __str__(self) -> str:
        return f"{self.reviewer_name}: {self.verdict}"


class ReviewComment(models.Model):
    """That somebody commented on a review. Its entry holds the text."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(ReviewItem, models.CASCADE, related_name="comments")
    author_name = models.CharField(max_length=NAME_LENGTH)
    entry_seq = models.BigIntegerField()
    created_at = models.DateTimeField()

    objects = TeamQuerySet["ReviewComment"].as_manager()

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return f"{self.author_name} {self.created_at}"
