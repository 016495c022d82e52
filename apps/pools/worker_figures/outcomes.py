"""What became of workers' answers in production, apart from what was measured of them.

People judge real answers: which tasks they are, and who judges, is left to chance, so
these figures stand beside the profiles and never in them.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import models
from django.utils.translation import gettext_noop

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.pools.worker_figures.profiles import FAMILY_LENGTH

LEAST_SHOWN = 5
"""Judgements of one kind that a conductor is told of; fewer say too little."""


class OutcomeSource(models.TextChoices):
    """Who says whether an answer was right."""

    FEEDBACK = "feedback", gettext_noop("rated good")
    """Ratings of people and programs; each counts."""
    REVIEW = "review", gettext_noop("passed in review")
    """Verdicts of reviewers; each run counts once."""
    VERIFIER = "verifier", gettext_noop("verified by the caller")
    """Outcomes that programs of callers found; each counts, as right from a half on."""


class WorkerOutcome(models.Model):
    """How a worker's answers to real requests were judged, of one family and source."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    worker = models.ForeignKey("pools.Worker", models.CASCADE, related_name="outcomes")
    family = models.CharField(max_length=FAMILY_LENGTH)
    """Of the runs. Empty: those without a family."""
    source = models.CharField(max_length=10, choices=OutcomeSource.choices)
    base_url = models.CharField(max_length=500)
    model = models.CharField(max_length=200)
    """Where the worker was served then: what another model did says nothing."""
    right = models.PositiveIntegerField()
    total = models.PositiveIntegerField()
    latest_at = models.DateTimeField()
    """When the newest of these runs began."""

    objects = TeamQuerySet["WorkerOutcome"].as_manager()

    class Meta:
        ordering = ("family", "source")
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "family", "source", "base_url", "model"],
                name="outcome_is_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker_id} {self.family} {self.source}"


@dataclass(frozen=True, slots=True)
class CountedOutcomes:
    """Judgements of a worker's answers, summed."""

    family: str
    source: str
    base_url: str
    model: str
    right: int
    total: int
    latest_at: datetime


def outcomes_of(
    team_id: uuid.UUID, worker_ids: Collection[uuid.UUID]
) -> Mapping[uuid.UUID, list[WorkerOutcome]]:
    """Return the outcomes of the models that workers stand for now, by worker."""
    rows = WorkerOutcome.objects.for_team(team_id).filter(
        worker_id__in=worker_ids,
        base_url=models.F("worker__base_url"),
        model=models.F("worker__model"),
    )
    found: dict[uuid.UUID, list[WorkerOutcome]] = defaultdict(list)
    for row in rows:
        found[row.worker_id].append(row)
    return found


def outcomes_replace(
    team_id: uuid.UUID, worker_id: uuid.UUID, counted: Iterable[CountedOutcomes]
) -> None:
    """Store the outcomes of a worker, instead of all that it had.

    Call it in a transaction.
    """
    WorkerOutcome.objects.for_team(team_id).filter(worker_id=worker_id).delete()
    WorkerOutcome.objects.bulk_create(
        WorkerOutcome(team_id=team_id, worker_id=worker_id, **asdict(each))
        for each in counted
    )


def outcome_card(outcomes: Sequence[WorkerOutcome]) -> str:
    """Return what a conductor reads of a worker's real answers; empty: too few.

    Like `In production: 18/20 rated good, 5/6 passed in review.`
    """
    parts = []
    for source in OutcomeSource:
        rows = [row for row in outcomes if row.source == source]
        total = sum(row.total for row in rows)
        if total >= LEAST_SHOWN:
            right = sum(row.right for row in rows)
            parts.append(f"{right}/{total} {source.label}")
    return f"In production: {', '.join(parts)}." if parts else ""
