"""Comparisons, their answers, votes and judgements. They hold no texts.

Prompts and answers are in the runs; the reason of a vote is a body of its ledger entry,
the reason of a judge is the answer of its run. All are erased with the runs.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

FEWEST_ANSWERS, MOST_ANSWERS = 2, 4
REASON_LENGTH = 2_000
LETTERS = "ABCD"


class VoteChoice(models.TextChoices):
    """What a person decided about the answers."""

    BETTER = "better", _("One is better")
    TIE = "tie", _("Tie")
    NONE = "none", _("None is good")


class JudgementState(models.TextChoices):
    """What came of asking a judge."""

    RUNNING = "running", "In progress"
    BETTER = "better", "One is better"
    """It named the same answer in both orders."""
    TIE = "tie", "Tie"
    """It called them equal in both orders."""
    SPLIT = "split", "Depends on the order"
    """It named different answers in the two orders."""
    FAILED = "failed", "No judgement"
    """A call failed, or its reply could not be read."""


class Comparison(models.Model):
    """Answers to one prompt side by side."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    actor_type = models.CharField(max_length=16)
    """As the ledger names who started it, like the next two."""
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    is_blind = models.BooleanField()
    """True: who has not voted sees the answers without what made them."""
    has_same_prompt = models.BooleanField()
    """False: the runs were asked different things, or that is unknown, since a prompt
    had been erased. No judge compares them, and their votes count for no candidate."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["Comparison"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["team", "-id"], name="comparison_by_team")]

    def __str__(self) -> str:
        return str(self.id)


class ComparedAnswer(models.Model):
    """One of the answers, and its column."""

    comparison = models.ForeignKey(
        Comparison, models.CASCADE, related_name="answers", db_index=False
    )
    position = models.PositiveSmallIntegerField()
    """From 0, left to right."""
    # No foreign key: the answer is stored before its run is on record.
    run_id = models.UUIDField(db_index=True)
    model = models.CharField(max_length=200)
    """The candidate, in the words of the API."""
    candidate = models.CharField(max_length=250)
    """What is equal for two names of one candidate, with its id."""

    objects = models.Manager["ComparedAnswer"]()

    class Meta:
        ordering = ("position",)
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "position"], name="compared_answer_is_unique"
            ),
            models.UniqueConstraint(
                fields=["comparison", "run_id"], name="compared_run_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return self.letter

    @property
    def letter(self) -> str:
        """Return what the column is called."""
        return LETTERS[self.position]


class ComparisonVote(models.Model):
    """What one person or API key decided. The ledger has what they decided before."""

    comparison = models.ForeignKey(
        Comparison, models.CASCADE, related_name="votes", db_index=False
    )
    actor_type = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    choice = models.CharField(max_length=10, choices=VoteChoice.choices)
    position = models.PositiveSmallIntegerField(null=True)
    """The better answer. NULL: none is better."""
    entry_seq = models.BigIntegerField()
    """Of the ledger entry that holds the reason."""
    is_blind = models.BooleanField()
    """True: given while the comparison was blind to the voter, so not a changed one."""
    voted_at = models.DateTimeField(auto_now=True)

    objects = models.Manager["ComparisonVote"]()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "actor_type", "actor_id"],
                name="comparison_vote_is_unique",
            ),
            models.CheckConstraint(
                condition=Q(choice=VoteChoice.BETTER, position__isnull=False)
                | ~Q(choice=VoteChoice.BETTER) & Q(position__isnull=True),
                name="comparison_vote_names_the_better_answer",
            ),
        ]

    def __str__(self) -> str:
        return self.choice


class ComparisonJudgement(models.Model):
    """A worker that was asked, in both orders, which answer is better."""

    comparison = models.ForeignKey(
        Comparison, models.CASCADE, related_name="judgements"
    )
    worker = models.CharField(max_length=200)
    """The model name that asks the judge directly."""
    actor_type = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    run_id = models.UUIDField()
    """Of the call with the answers from left to right."""
    reversed_run_id = models.UUIDField()
    """Of the call with the answers from right to left."""
    positions = models.JSONField()
    """Columns that were judged, from left to right: those with an answer."""
    state = models.CharField(max_length=10, choices=JudgementState.choices)
    position = models.PositiveSmallIntegerField(null=True)
    """The better answer. NULL: it named none in both orders."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = models.Manager["ComparisonJudgement"]()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["comparison"],
                condition=Q(state=JudgementState.RUNNING),
                name="comparison_has_one_judge_at_work",
            )
        ]

    def __str__(self) -> str:
        return self.state
