"""Versions of a pool's light planner: what a fit found out, sealed, and how it did.

Beside a version stands what was learned after its fit, and which promises it broke.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.planners.light.sources import ModelSource


class PlannerVersion(models.Model):
    """A light planner that was fitted for a pool. It never changes, but for its gate.

    The fitted arrays are sealed, because words of prompts are in them.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    pool = models.ForeignKey(
        "pools.Pool", models.CASCADE, related_name="planner_versions"
    )
    number = models.PositiveIntegerField()
    """From 1, in each pool."""
    sealed = models.BinaryField()
    digest = models.CharField(max_length=64)
    """SHA-256 of what is sealed, in hexadecimal."""
    data_digest = models.CharField(max_length=64)
    """SHA-256 of the learning data, in hexadecimal."""
    fit = models.JSONField()
    """How it was fitted; see `PlannerFit`."""
    gate = models.JSONField(null=True)
    """How it did on held-out tasks. NULL: it was not measured."""
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["PlannerVersion"].as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "number"], name="planner_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.pool_id} planner {self.number}"

    @property
    def source(self) -> ModelSource:
        """Return where its knowledge is from."""
        return ModelSource(self.fit.get("source", ModelSource.FITTED))

    @property
    def answer_worth_micros(self) -> int | None:
        """Return what a right answer is worth to it; None: its fit does not say."""
        worth: int | None = self.fit.get("answer_worth_micros")
        return worth

    @property
    def is_site_default(self) -> bool:
        """Say whether it is the site's default with the workers' profiles."""
        return self.source is ModelSource.SITE_DEFAULT

    @property
    def fingerprints(self) -> dict[str, str]:
        """Return those of the models that it knows its workers by.

        Versions from before they were kept have none.
        """
        return dict(self.fit.get("fingerprints", {}))

    @property
    def context(self) -> bytes:
        """Return what its sealed bytes are bound to."""
        return f"planner version {self.team_id} {self.id}".encode()


class PlannerCounts(models.Model):
    """What a version knows by now: its counts after the runs graded since its fit.

    They can be made anew at any time from the version and those runs.
    """

    version = models.OneToOneField(
        PlannerVersion, models.CASCADE, primary_key=True, related_name="counts"
    )
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    revision = models.PositiveIntegerField(default=0)
    """Grows with each change."""
    runs = models.PositiveIntegerField(default=0)
    """Graded runs since the fit that are in them."""
    source = models.CharField(max_length=200, default="")
    """What they were made of, in short: equal if nothing has changed."""
    arrays = models.BinaryField(default=b"")
    """See `apps.planners.light.live.stored_counts`. Empty: as fitted."""
    updated_at = models.DateTimeField(auto_now=True)

    objects = TeamQuerySet["PlannerCounts"].as_manager()

    def __str__(self) -> str:
        return f"{self.version_id} revision {self.revision}"


class BrokenPromise(models.Model):
    """A worker's success that fell below what a version promised of it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    version = models.ForeignKey(
        PlannerVersion, models.CASCADE, related_name="broken_promises"
    )
    worker = models.CharField(max_length=100)
    """Its name."""
    ability = models.CharField(max_length=10)
    """A value of `apps.planners.light.live.adaptation.Ability`."""
    kind = models.PositiveIntegerField()
    """Of prompts, by the version."""
    run_id = models.UUIDField()
    """The graded run that decided."""
    seen = models.FloatField()
    """Answers since success was last as promised, by weight."""
    promised = models.FloatField()
    """Mean success promised for them, from 0 to 1."""
    observed = models.FloatField()
    """Their mean success."""
    noticed_at = models.DateTimeField(auto_now_add=True)
    dismissed_at = models.DateTimeField(null=True)
    """NULL: what was known before counts little."""
    dismissed_by = models.CharField(max_length=200, default="")

    objects = TeamQuerySet["BrokenPromise"].as_manager()

    class Meta:
        ordering = ("-noticed_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["version", "ability", "worker", "kind", "run_id"],
                name="broken_promise_is_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker} {self.ability} {self.kind}"
