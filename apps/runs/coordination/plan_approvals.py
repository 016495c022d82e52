"""The rows of plans that people must approve, as a run's events change them.

Written with the events, so a plan waits in a list exactly while the ledger says so.
"""

from __future__ import annotations

from datetime import UTC, datetime

from apps.audit.types import RowWrite
from apps.engine import events as ev
from apps.runs.models import ApprovalState

INSERT = (
    "INSERT INTO runs_planapproval (run_id, team_id, round, state, plan_digest, "
    "edited_plan, approvals_needed, requester_id, requested_at, expires_at, "
    "decided_by, reason) VALUES (%s, %s, %s, %s, %s, '', %s, %s, %s, %s, '', '')"
)
SETTLE = (
    "UPDATE runs_planapproval SET state = %s, "
    "plan_digest = COALESCE(%s, plan_digest), edited_plan = '', "
    "reason = '', settled_at = %s WHERE run_id = %s AND settled_at IS NULL"
)


def requested(
    run_id: object, team_id: object, requester_id: object, event: ev.ApprovalRequested
) -> RowWrite:
    """Return the write that lets a plan wait."""
    values = (
        run_id,
        team_id,
        event.round,
        ApprovalState.WAITING.value,
        event.plan_digest,
        event.approvals_needed,
        requester_id,
        datetime.now(UTC),
        datetime.fromisoformat(event.expires_at),
    )
    return RowWrite(INSERT, values, phase=1)


def settled(run_id: object, event: ev.ApprovalSettled) -> RowWrite:
    """Return the write with which the run takes note of the decision, once."""
    values = (event.outcome, event.plan_digest, datetime.now(UTC), run_id)
    return RowWrite(SETTLE, values, must_change_row=True)


def withdrawn(run_id: object) -> RowWrite:
    """Return the write for a run that ends while people are deciding."""
    values = (ApprovalState.WITHDRAWN.value, None, datetime.now(UTC), run_id)
    return RowWrite(SETTLE, values, phase=1)
