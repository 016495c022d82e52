"""What a conductor's training has spent on its own plans, and what is left to spend."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Avg, Count

from apps.core.money import usd_text
from apps.training.conductor.models import (
    ConductorRollout,
    ConductorTraining,
    RolloutState,
)
from apps.training.conductor.selectors import rollouts_cost

TIMES_MEAN = 10
"""So many times the mean of the runs so far is room enough for almost every run."""
LEAST_MEASURED = 3
"""Runs whose mean says something."""


class OutOfBudget(Exception):
    """The cost limit allows no further run; the text says what is left."""


class NotOurs(Exception):
    """Another process drives the training now, or it was deleted."""


class RolloutSpending:
    """The running sum of one claimed training, in micro-dollars."""

    def __init__(self, training: ConductorTraining, limit: int | None) -> None:
        self._training, self._limit = training, limit
        self.recount()

    def recount(self) -> None:
        """Read the sum from all rollouts."""
        self.micros = rollouts_cost(self._training)

    def bound(self, highest: int | None) -> int | None:
        """Return what a run is held to: `highest`, or less if there is no room for it.

        None: no limit. Raises: OutOfBudget if a price is missing.
        """
        if self._limit is None:
            return None
        if highest is None:
            raise OutOfBudget("a worker has no price, so the limit cannot be kept")
        if self.micros + highest <= self._limit:
            return highest
        likely = self._likely()
        return highest if likely is None else min(highest, likely)

    def has_room(self, cost: int | None) -> bool:
        """Say whether the limit leaves so much now."""
        return self._limit is None or self.micros + (cost or 0) <= self._limit

    def why_over(self, cost: int | None) -> str:
        """Say that the next run may cost too much."""
        left = max(0, (self._limit or 0) - self.micros)
        return (
            f"the next run may cost ${usd_text(cost or 0)}, and ${usd_text(left)} are "
            "left"
        )

    def set_aside(self, rollout: ConductorRollout, cost: int | None) -> None:
        """Store that a rollout's run begins and may cost so much. Raises: NotOurs."""
        rows = ConductorTraining.objects.for_team(self._training.team_id)
        claimed = rows.filter(claim_id=self._training.claim_id)
        before = rollout.cost_micros
        with transaction.atomic():
            # Locked: who takes it now waits, and then reads what is stored here.
            if claimed.select_for_update().first() is None:
                raise NotOurs
            rollout.state, rollout.cost_micros = RolloutState.STARTED, cost or 0
            rollout.save(update_fields=["state", "cost_micros"])
        self.change(before, rollout)

    def change(self, before: int, rollout: ConductorRollout) -> None:
        """Note that a rollout, which came to `before`, was stored with another cost."""
        self.micros += rollout.cost_micros - before

    def _likely(self) -> int | None:
        rows = ConductorRollout.objects.for_team(self._training.team_id).filter(
            training=self._training, state=RolloutState.ENDED
        )
        found = rows.aggregate(count=Count("id"), mean=Avg("cost_micros"))
        if found["count"] < LEAST_MEASURED or not found["mean"]:
            return None
        return round(TIMES_MEAN * float(found["mean"]))
