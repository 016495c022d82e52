"""Budgets, what was spent of them, and what runs in progress have set aside.

`Spend` and `Reservation` change by plain SQL in the ledger's commits, see
`reservations.py`; nothing else writes them but the sweep. All money is micro-dollars.
"""

from __future__ import annotations

import uuid
from datetime import date

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import ApiKey, Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet


class BudgetKind(models.TextChoices):
    """Whose runs count."""

    TEAM = "team", "Team"
    """Every run of the team."""
    MEMBER = "member", "Member"
    """Runs of one person, those of API keys that person made included."""
    KEY = "key", "API key"
    """Runs of one API key, and of those it is rotated to."""


class Period(models.TextChoices):
    """What the limit is for. Days and months are those of UTC."""

    RUN = "run", "Each run"
    DAY = "day", "Day"
    MONTH = "month", "Month"


class Budget(models.Model):
    """What a team, a member or a key may spend, from the moment the budget is set.

    A run counts for the day and month in which it began.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="budgets")
    kind = models.CharField(max_length=10, choices=BudgetKind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
    )
    """The member; null for other kinds."""
    api_key = models.ForeignKey(
        ApiKey, models.CASCADE, null=True, blank=True, related_name="+"
    )
    """The key; null for other kinds."""
    period = models.CharField(max_length=10, choices=Period.choices)
    limit_micros = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["Budget"].as_manager()

    class Meta:
        ordering = ("created_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="team", user=None, api_key=None)
                | Q(kind="member", user__isnull=False, api_key=None)
                | Q(kind="key", user=None, api_key__isnull=False),
                name="budget_has_the_target_of_its_kind",
            ),
            models.CheckConstraint(
                condition=Q(period__in=Period.values), name="budget_period_is_known"
            ),
            # One for each kind: NULLs would make a common one miss duplicates.
            models.UniqueConstraint(
                fields=["team", "period"],
                condition=Q(kind="team"),
                name="budget_of_team_is_unique",
            ),
            models.UniqueConstraint(
                fields=["team", "user", "period"],
                condition=Q(kind="member"),
                name="budget_of_member_is_unique",
            ),
            models.UniqueConstraint(
                fields=["team", "api_key", "period"],
                condition=Q(kind="key"),
                name="budget_of_key_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.period} {self.limit_micros}"


class Spend(models.Model):
    """One day or month of a budget."""

    id = models.UUIDField(primary_key=True, editable=False)
    """Made of the budget and the day, see `spend_id`."""
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    budget = models.ForeignKey(
        Budget, models.CASCADE, related_name="spends", db_index=False
    )
    starts_on = models.DateField()
    spent_micros = models.PositiveBigIntegerField(default=0)
    """Of runs that have ended: the sum of their recorded costs."""
    reserved_micros = models.PositiveBigIntegerField(default=0)
    """Of runs in progress: the sum of their reservations."""
    crossed_percent = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The highest of `crossings.MARKS` that is on record."""

    objects = TeamQuerySet["Spend"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["starts_on"], name="spend_by_day")]
        constraints = [
            models.UniqueConstraint(
                fields=["budget", "starts_on"], name="spend_is_unique_in_budget"
            )
        ]

    def __str__(self) -> str:
        return f"{self.budget_id} {self.starts_on} {self.spent_micros}"


class Reservation(models.Model):
    """What one run in progress has set aside of one budget.

    The row stays until the run has ended, even if the sweep has freed its money: it is
    how the run's cost finds the budgets it counts for.
    """

    run_id = models.UUIDField()
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    spend = models.ForeignKey(Spend, models.CASCADE, related_name="reservations")
    micros = models.PositiveBigIntegerField()
    """0: freed by the sweep."""
    touched_at = models.DateTimeField()
    """When the process that executes the run was last known to be alive."""

    objects = TeamQuerySet["Reservation"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "spend"], name="reservation_is_unique_in_run"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.micros}"


def spend_id(budget_id: uuid.UUID, starts_on: date) -> uuid.UUID:
    """Return the id of a budget's day or month: a run knows it without a look-up."""
    return uuid.uuid5(budget_id, starts_on.isoformat())
