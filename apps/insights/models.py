"""Sums of a team's runs by day: queries, faults and plans.

Made from runs and steps that have ended, see `rollup.py`. The rows of a span appear all
at once and never change; losing them costs time alone.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet

KEY_LENGTH = 200


class KeptSpan(models.Model):
    """A day of a team, from its beginning, whose sums are kept."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    """Of UTC: the one the runs began on."""
    until = models.DateTimeField()
    """Runs that began from then on are not in it: the end of the day, or some time of
    it. All that are in it have ended."""

    objects = TeamQuerySet["KeptSpan"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "day", "until"], name="insights_span_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} until {self.until}"


class KeptSums(models.Model):
    """What the runs of a span have in common that rows of all kinds hold."""

    span = models.ForeignKey(KeptSpan, models.CASCADE, related_name="+", db_index=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    by_callers = models.BooleanField()
    """False: runs of evaluations and shadow tests."""
    runs = models.PositiveBigIntegerField()
    failed = models.PositiveBigIntegerField()
    cost_micros = models.PositiveBigIntegerField()
    """The known part."""

    class Meta:
        abstract = True


class QueryRow(KeptSums):
    """What the queries of a span used, of one tier, planner, worker and so on."""

    group = models.CharField(max_length=8)
    """A `types.Group`."""
    key = models.CharField(max_length=KEY_LENGTH)
    prompt_tokens = models.PositiveBigIntegerField()
    completion_tokens = models.PositiveBigIntegerField()
    unknown_costs = models.PositiveBigIntegerField()
    """Runs, or a worker's steps, whose cost is not wholly known."""
    latencies = models.TextField()
    """A `LogHistogram` of milliseconds, of answered runs, or of a worker's steps."""
    first_tokens = models.TextField()
    """The same up to the first token of the answer, where that is known."""
    costs = models.TextField()
    """A `LogHistogram` of micro-dollars, of runs whose cost is known."""
    based_runs = models.PositiveBigIntegerField()
    """Answered runs of known cost and sizes, which can be compared with a baseline;
    the next columns are of these."""
    based_asked = models.PositiveBigIntegerField()
    """Tokens of the prompts."""
    based_answered = models.PositiveBigIntegerField()
    """Tokens of the answers."""
    based_tokens = models.PositiveBigIntegerField()
    """All tokens that were used."""
    based_cost_micros = models.PositiveBigIntegerField()

    objects = TeamQuerySet["QueryRow"].as_manager()

    class Meta:
        constraints = [
            # In the order in which a grouping of a period is read.
            models.UniqueConstraint(
                fields=["span", "group", "key", "by_callers"],
                name="insights_query_is_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.group} {self.key}"


class FaultRow(KeptSums):
    """How often a fault happened in a span, in how many runs, and what became of them.

    Its cost is what was spent in vain.
    """

    stage = models.CharField(max_length=8)
    """plan, step, loop, or run."""
    fault = models.CharField(max_length=40)
    worker = models.CharField(max_length=100)
    """Empty for the conductor and for whole runs."""
    count = models.PositiveBigIntegerField()
    rescues = models.JSONField()
    """How often each rescue followed."""
    examples = models.JSONField()
    """Ids of the latest runs that had it, a few."""

    objects = TeamQuerySet["FaultRow"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["span", "stage", "fault", "worker", "by_callers"],
                name="insights_fault_is_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.stage} {self.fault}"


class ShapeRow(KeptSums):
    """How the plans of one shape did in a span."""

    shape = models.CharField(max_length=16)
    """`Shape.key`; empty: there was no plan."""
    access = models.JSONField()
    """The access lists of one of its plans, for a drawing."""
    completed = models.PositiveBigIntegerField()
    tokens = models.PositiveBigIntegerField()
    unknown_costs = models.PositiveBigIntegerField()
    latencies = models.TextField()
    """A `LogHistogram` of milliseconds, of answered runs."""
    examples = models.JSONField()

    objects = TeamQuerySet["ShapeRow"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["span", "shape", "by_callers"],
                name="insights_shape_is_unique",
            )
        ]

    def __str__(self) -> str:
        return self.shape
