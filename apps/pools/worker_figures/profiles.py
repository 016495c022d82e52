"""What was measured of workers, by family of tasks, and how a conductor reads it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import models

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.pools.model_fingerprints import DIGITS, worker_fingerprint

if TYPE_CHECKING:
    from apps.pools.models import Worker

FAMILY_LENGTH, SUITE_LENGTH = 60, 100
LISTED_FAMILIES = 12
"""Of a card; the others have fewer tasks."""


class WorkerProfile(models.Model):
    """How a worker did on the tasks of one family, when it was calibrated last."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    worker = models.ForeignKey("pools.Worker", models.CASCADE, related_name="profiles")
    family = models.CharField(max_length=FAMILY_LENGTH)
    """Of the suite's tasks. Empty: those without a family."""
    base_url = models.CharField(max_length=500)
    model = models.CharField(max_length=200)
    """Where the worker was served then."""
    fingerprint = models.CharField(max_length=DIGITS, blank=True, default="")
    """Of the model that it was then: a profile of another model says nothing. Empty: it
    is from before fingerprints were kept, so address and model are to be the same."""
    suite = models.CharField(max_length=SUITE_LENGTH)
    """Name and version of the suite."""
    evaluation_id = models.UUIDField()
    """Of the evaluation that measured it."""
    tasks = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()
    """Of all tasks, input and output."""
    cost_micros = models.PositiveBigIntegerField()
    """Of all tasks, the known part, in micro-dollars."""
    latency_ms = models.PositiveBigIntegerField()
    """Median of the tasks."""
    measured_at = models.DateTimeField()
    is_simulated = models.BooleanField(default=False)
    """Of simulated workers, or of tasks for them; as its evaluation says."""

    objects = TeamQuerySet["WorkerProfile"].as_manager()

    class Meta:
        ordering = ("family",)
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "family"], name="profile_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker_id} {self.family}"


@dataclass(frozen=True, slots=True)
class FamilyMeasurement:
    """How a worker did on the tasks of one family."""

    family: str
    tasks: int
    """At least 1."""
    right: int
    tokens: int
    """Of all tasks, input and output."""
    cost_micros: int
    """Of all tasks, the known part."""
    latency_ms: int
    """Median of the tasks."""


@dataclass(frozen=True, slots=True)
class CalibrationSource:
    """Where measurements come from."""

    suite: str
    """Name and version, like `Support questions, version 2`."""
    evaluation_id: uuid.UUID
    is_simulated: bool = False


def present_profiles(worker: Worker) -> list[WorkerProfile]:
    """Return the profiles of the model that a worker stands for now, by family."""
    served, now = (worker.base_url, worker.model), worker_fingerprint(worker)
    rows = (
        profile
        for profile in worker.profiles.all()
        if profile.fingerprint == now
        or (not profile.fingerprint and (profile.base_url, profile.model) == served)
    )
    return sorted(rows, key=lambda profile: profile.family)


def profile_card(profiles: Sequence[WorkerProfile]) -> str:
    """Return what a conductor reads of a measured worker; empty: nothing is measured.

    Like `Measured, right of tasks: sums 19/20, facts 3/20. 0.3 s, $0.000021 a task.`
    """
    if not profiles:
        return ""
    largest = sorted(profiles, key=lambda p: (-p.tasks, p.family))[:LISTED_FAMILIES]
    best = sorted(largest, key=lambda p: (-p.right / p.tasks, p.family))
    shares = ", ".join(
        f"{p.family.replace('_', ' ') or 'other tasks'} {p.right}/{p.tasks}"
        for p in best
    )
    tasks = sum(p.tasks for p in profiles)
    seconds = sum(p.latency_ms * p.tasks for p in profiles) / tasks / 1000
    dollars = sum(p.cost_micros for p in profiles) / tasks / 1_000_000
    return (
        f"Measured, right of tasks: {shares}. {seconds:.1f} s, ${dollars:.6f} a task."
    )
