"""A training that this process drives: its row, settings, and whose runs it makes."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from apps.accounts.models import Team
from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.core.scoping import TeamQuerySet
from apps.evaluation.plan_runs import Requested
from apps.evaluation.requesters import requester_principal
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.training.conductor.models import ConductorOutcome, ConductorTraining
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.conductor.spending import NotOurs


class ConductorTrainingEnded(Exception):
    """A training can't go on, or need not."""

    def __init__(self, outcome: ConductorOutcome, why: str = "") -> None:
        super().__init__(why)
        self.outcome, self.why = outcome, why


class ClaimedTraining:
    """One training with the claim of this process."""

    def __init__(self, row: ConductorTraining) -> None:
        self.row = row
        self.plan = ConductorTrainingPlan.model_validate(row.settings)
        self.team = Team.objects.get(pk=row.team_id)
        self.actor = Actor(**row.requested_by)

    def save(self, **values: Any) -> None:
        """Store values of the row. Raises: NotOurs."""
        claimed = self._rows.filter(claim_id=self.row.claim_id)
        if not claimed.update(beat_at=timezone.now(), **values):
            raise NotOurs
        for name, value in values.items():
            setattr(self.row, name, value)

    @property
    def is_cancelled(self) -> bool:
        """Say whether somebody has cancelled it."""
        return self._rows.filter(pk=self.row.pk, is_cancelled=True).exists()

    def require_wanted(self) -> None:
        """Raise ConductorTrainingEnded if somebody has cancelled it."""
        if self.is_cancelled:
            raise ConductorTrainingEnded(ConductorOutcome.CANCELLED)

    def principal(self) -> Principal | None:
        """Return who started it, with their present rights; None: the operator did.

        Raises: NotAllowed, NotAuthenticated.
        """
        return requester_principal(self.actor, self.team, self.row.user)

    def requested(self) -> Requested:
        """Return whose runs it makes. Raises: as `principal`."""
        return Requested(self.team.id, self.actor, self.principal())

    def snapshot(self) -> PoolSnapshot:
        """Return the pool as it is now. Raises: as `pool_snapshot`."""
        return pool_snapshot(self.team.id, self.row.pool.name)

    @property
    def _rows(self) -> TeamQuerySet[ConductorTraining]:
        return ConductorTraining.objects.for_team(self.row.team_id)
