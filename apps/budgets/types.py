"""Values that cross the border of budgets. Plain and frozen; no ORM in `Standing`."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime

from apps.budgets.models import Budget


@dataclass(frozen=True, slots=True)
class Standing:
    """A budget and where it stands, as the hot path remembers it for a few seconds."""

    budget_id: uuid.UUID
    user_id: uuid.UUID | None
    key_ids: frozenset[uuid.UUID]
    """The key and those it was rotated to; empty for other kinds."""
    period: str
    """A value of `Period`."""
    limit_micros: int
    label: str
    """In words: `the monthly budget of API key 'CI'`."""
    starts_on: date | None = None
    """The day or month the next two are of; None for the limit of each run."""
    spent_micros: int = 0
    reserved_micros: int = 0

    @property
    def left_micros(self) -> int:
        """Return what can still be set aside."""
        return max(0, self.limit_micros - self.spent_micros - self.reserved_micros)

    def binds(self, user_id: uuid.UUID | None, api_key_id: uuid.UUID | None) -> bool:
        """Say whether a run of this person and key counts."""
        if self.user_id is not None:
            return self.user_id == user_id
        return not self.key_ids or api_key_id in self.key_ids


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """A budget as a page or an answer shows it."""

    budget: Budget
    target_label: str
    """Name of the member or key, or `Whole team`."""
    spent_micros: int
    reserved_micros: int
    """Set aside for runs in progress."""
    left_micros: int
    resets_at: datetime | None
    """None: the limit is for each run."""
    key_ids: frozenset[uuid.UUID] = frozenset()
    """The key and those it was rotated to; empty for other kinds."""
