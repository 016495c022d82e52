"""Reservations of runs, as statements inside the ledger's own commits.

A run sets money aside in the commit that opens it, and only if that much is left of
every budget it counts for: otherwise the statement changes no row, the whole commit
fails with StaleWrite, and the run never exists. The commit that ends it turns what was
set aside into what it cost. Nothing here reads; nothing takes a commit of its own.

Plain SQL that SQLite and PostgreSQL both take. A spend's row is locked before anything
is read of its reservations, here and in the sweep, so neither counts a thing twice.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime

from apps.audit.types import RowWrite
from apps.budgets.models import spend_id

OPEN_SPEND, SET_ASIDE, OPEN_RESERVATION = -3, -2, -1
"""Phases before the run's own rows: what fails soonest costs least."""
COUNT_COST, FREE, CLOSE_RESERVATION = 3, 4, 5
"""Phases after them."""

INSERT_SPEND = (
    "INSERT INTO budgets_spend "
    "(id, team_id, budget_id, starts_on, spent_micros, reserved_micros) "
    "VALUES (%s, %s, %s, %s, 0, 0) ON CONFLICT DO NOTHING"
)
RESERVE = (
    "UPDATE budgets_spend SET reserved_micros = reserved_micros + %s "
    "WHERE id = %s AND spent_micros + reserved_micros + %s <= "
    "(SELECT limit_micros FROM budgets_budget WHERE id = budgets_spend.budget_id)"
)
INSERT_RESERVATION = (
    "INSERT INTO budgets_reservation (run_id, team_id, spend_id, micros, touched_at) "
    "VALUES (%s, %s, %s, %s, %s)"
)
REFILL_RESERVATION = (
    "UPDATE budgets_reservation SET micros = %s, touched_at = %s "
    "WHERE run_id = %s AND spend_id = %s"
)
ADD_COST = (
    "UPDATE budgets_spend SET spent_micros = spent_micros + %s WHERE id IN "
    "(SELECT spend_id FROM budgets_reservation WHERE run_id = %s)"
)
RELEASE = (
    "UPDATE budgets_spend SET reserved_micros = reserved_micros - "
    "(SELECT micros FROM budgets_reservation "
    "WHERE run_id = %s AND spend_id = budgets_spend.id) WHERE id IN "
    "(SELECT spend_id FROM budgets_reservation WHERE run_id = %s)"
)
DELETE_RESERVATION = "DELETE FROM budgets_reservation WHERE run_id = %s"


@dataclass(frozen=True, slots=True)
class Share:
    """One budget's day or month that a run counts for."""

    budget_id: uuid.UUID
    starts_on: date


@dataclass(frozen=True, slots=True)
class Hold:
    """What a new run sets aside, the same sum in every budget it counts for."""

    micros: int
    shares: tuple[Share, ...]

    def opening(
        self, team_id: uuid.UUID, run_id: uuid.UUID, now: datetime
    ) -> list[RowWrite]:
        """Return the writes that must be committed with the run's first entry."""
        writes = []
        for share in self.shares:
            spend = spend_id(share.budget_id, share.starts_on)
            day = share.starts_on.isoformat()
            row = (spend, team_id, share.budget_id, day)
            held = (run_id, team_id, spend, self.micros, now)
            writes += [
                RowWrite(INSERT_SPEND, row, OPEN_SPEND),
                reserve(spend, self.micros),
                RowWrite(INSERT_RESERVATION, held, OPEN_RESERVATION),
            ]
        return writes


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run that is resumed had set aside."""

    micros: int
    spends: tuple[uuid.UUID, ...]
    freed: frozenset[uuid.UUID]
    """Those of `spends` whose part the sweep has freed meanwhile."""

    def opening(
        self, team_id: uuid.UUID, run_id: uuid.UUID, now: datetime
    ) -> list[RowWrite]:
        """Return the writes that set aside anew what was freed."""
        writes = [reserve(spend, self.micros) for spend in sorted(self.freed)]
        for spend in self.spends:
            row = (self.micros, now, run_id, spend)
            writes.append(RowWrite(REFILL_RESERVATION, row, OPEN_RESERVATION))
        return writes


def reserve(spend: uuid.UUID, micros: int) -> RowWrite:
    """Return the write that sets `micros` aside, or fails if they are not left."""
    return RowWrite(RESERVE, (micros, spend, micros), SET_ASIDE, must_change_row=True)


def settling(run_id: uuid.UUID, cost_micros: int) -> list[RowWrite]:
    """Return the writes that must be committed with a run's last entry.

    Right for every run: without reservations they change nothing, and a second time
    they change nothing either.
    """
    return [
        RowWrite(ADD_COST, (cost_micros, run_id), COUNT_COST),
        RowWrite(RELEASE, (run_id, run_id), FREE),
        RowWrite(DELETE_RESERVATION, (run_id,), CLOSE_RESERVATION),
    ]
