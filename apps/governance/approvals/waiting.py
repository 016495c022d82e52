"""Wakes the runs of this process when people have decided about their plans.

Decisions are rows: one process may show the page and another execute the run. Each
process looks for those it waits for once a second, in one query, and only while a run
of its own waits.
"""

from __future__ import annotations

import asyncio
import logging
import uuid

from channels.db import database_sync_to_async
from django.db import DatabaseError

from apps.engine.gate import ApprovalOutcome
from apps.governance.emails import approvers_notify
from apps.governance.services.approvals import approvals_take

logger = logging.getLogger(__name__)
LOOK_S = 1.0
_send_mails = database_sync_to_async(approvers_notify, thread_sensitive=False)
_take = database_sync_to_async(approvals_take, thread_sensitive=False)


class ApprovalWaits:
    """The runs of this process that wait for people."""

    def __init__(self) -> None:
        self._waits: dict[uuid.UUID, asyncio.Future[ApprovalOutcome]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._mails: set[asyncio.Task[None]] = set()

    async def outcome(self, run_id: uuid.UUID) -> ApprovalOutcome:
        """Return what people decide about the plan of a run, when they have."""
        future = asyncio.get_running_loop().create_future()
        self._waits[run_id] = future
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        mails = asyncio.create_task(_notify(run_id))
        self._mails.add(mails)
        mails.add_done_callback(self._mails.discard)
        try:
            outcome: ApprovalOutcome = await future
            return outcome
        finally:
            del self._waits[run_id]

    async def _look(self) -> None:
        while self._waits:
            try:
                found = await _take(list(self._waits))
            except DatabaseError as exc:
                logger.warning("approvals: the database is away: %s", exc)
                found = {}
            except Exception:  # the boundary: other runs' decisions must be found
                logger.exception("approvals could not be read")
                found = {}
            for run_id, outcome in found.items():
                self._settle(run_id, outcome)
            await asyncio.sleep(LOOK_S)

    def _settle(self, run_id: uuid.UUID, outcome: ApprovalOutcome) -> None:
        future = self._waits.get(run_id)
        if future is not None and not future.done():
            future.set_result(outcome)


async def _notify(run_id: uuid.UUID) -> None:
    """Tell approvers by mail. The run waits, whatever becomes of the mails."""
    try:
        await _send_mails(run_id)
    except Exception:  # the boundary: nobody waits for this task
        logger.exception("approvers of run %s could not be notified", run_id)
