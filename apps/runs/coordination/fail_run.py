"""Ends runs that cannot go on, so that one bad run stops neither a process nor others.

What a run used so far stays in its row; what its open calls cost is unknown.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from django.db import DatabaseError

from apps.audit.types import SERVICE, Batch, EntryDraft, RowWrite
from apps.audit.writer import get_writer
from apps.budgets.reservations import settling
from apps.core.errors import ConductorError
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.engine.errors import HistoryMismatch
from apps.engine.usage import Usage
from apps.runs.coordination.leases import MAX_DEATHS
from apps.runs.coordination.plan_approvals import withdrawn
from apps.runs.models import Run, RunState
from apps.runs.telemetry import metrics

FAIL_RUN = (
    "UPDATE runs_run SET state = %s, plan = %s, error_code = %s, error_message = %s, "
    "has_unknown_cost = %s, latency_ms = %s, overhead_ms = %s, finished_at = %s "
    "WHERE id = %s AND state = %s AND fence = %s"
)
_OVER = frozenset({"completed", "failed", "skipped"})


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a run cannot go on, in words that hold no detail of the server."""

    code: str
    message: str


BROKEN = Fault(
    "internal_error",
    "the run broke off; the server's log has the reason under the run's id",
)
OWNER_LOST = Fault(
    "owner_lost",
    f"{MAX_DEATHS} processes ended while they executed this run; it is not tried again",
)
UNREADABLE = Fault(
    "history_unreadable",
    "what is recorded of the run cannot be read, so it cannot go on",
)


def fault_at_resume(error: Exception) -> Fault:
    """Return the failure of a run that could not be resumed."""
    if isinstance(error, ConductorError):
        return Fault(error.code, error.message)
    return UNREADABLE


def fault_at_work(error: Exception) -> Fault:
    """Return the failure of a run that broke while it was executing."""
    return UNREADABLE if isinstance(error, HistoryMismatch) else BROKEN


async def run_give_up(run: Run, fault: Fault) -> None:
    """End a run that executes nowhere; if not even that works, leave and log it."""
    try:
        await _record(run, fault)
        metrics.count_given_up(fault.code)
    except (ConductorError, DatabaseError):
        logger.exception("run %s stays on record as running", run.id)


async def _record(run: Run, fault: Fault) -> None:
    usage = Usage(run.prompt_tokens, run.completion_tokens)
    sums = (usage, run.cost_micros, True, 0, 0)
    record = encode(ev.RunFailed(fault.code, fault.message, "", *sums))
    draft = EntryDraft(
        record.action,
        "run",
        run.id,
        SERVICE,
        record.data,
        record.bodies,
        outcome="failure",
    )
    writes = (
        _row_write(run, fault),
        withdrawn(run.id),
        *settling(run.id, run.cost_micros),
    )
    await get_writer().write(Batch(run.team_id, (draft,), writes))


def _row_write(run: Run, fault: Fault) -> RowWrite:
    plan = [
        step if step["state"] in _OVER else {**step, "state": "cancelled"}
        for step in run.plan
    ]
    values = (
        RunState.FAILED,
        orjson.dumps(plan).decode(),
        fault.code,
        fault.message,
        True,
        0,
        0,
        datetime.now(UTC),
        run.id,
        RunState.RUNNING,
        run.fence,
    )
    return RowWrite(FAIL_RUN, values, must_change_row=True)
