"""Rows of usage: sums of days that are over, and of the day in progress."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet


class UsageSums(models.Model):
    """What some runs used together, for one worker, member or key."""

    group = models.CharField(max_length=10)
    """day, worker, member or key: those of all but `day` add up to that one row."""
    key = models.CharField(max_length=100)
    """A worker's name or the hexadecimal id of a member or key; empty for the whole
    day, and for runs without a member or key."""
    runs = models.PositiveBigIntegerField()
    failed = models.PositiveBigIntegerField()
    prompt_tokens = models.PositiveBigIntegerField()
    completion_tokens = models.PositiveBigIntegerField()
    cost_micros = models.PositiveBigIntegerField()
    unknown_costs = models.PositiveBigIntegerField()
    """Runs, or a worker's steps, whose cost is not wholly known."""

    class Meta:
        abstract = True


class UsageDay(UsageSums):
    """What a team used on a day that is over, for one worker, member or key.

    Made from runs and steps, see `usage/daily_rollup.py`; the rows of a day appear all
    at once and never change. Losing them costs time alone. One row of a team is of the
    group `begin`: before its day the team ran nothing.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    """Of UTC: the one the runs began on."""

    objects = TeamQuerySet["UsageDay"].as_manager()

    class Meta:
        constraints = [
            # In the order in which a period is read.
            models.UniqueConstraint(
                fields=["team", "group", "day", "key"], name="usage_day_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.group} {self.key}"


class UsagePart(UsageSums):
    """What a team used from the beginning of a day until some time of that day.

    So that the day in progress need not be summed whole, see
    `usage/intraday_rollup.py`. Rows appear all at once, never change, and go when a
    later part or the day is kept.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    until = models.DateTimeField()
    """Runs that began from then on are not in it. All that are in it have ended."""

    objects = TeamQuerySet["UsagePart"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "until", "group", "key"], name="usage_part_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.until} {self.group} {self.key}"
