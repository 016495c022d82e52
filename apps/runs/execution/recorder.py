"""Records the events of a run in the ledger, with the rows that they change."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter

from apps.audit.metrics import LAG
from apps.audit.types import SERVICE, Actor, Batch, EntryDraft, RowWrite
from apps.audit.writer import get_writer
from apps.budgets.reservations import Hold, Kept, settling
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.runs.records.projection import RunProjection
from apps.runs.types import IGNORED_FIELDS, RunOrder

SUBJECT = "run"
_OUTCOMES = {
    ev.PlanCallFailed.action: "failure",
    ev.PlanRejectedEvent.action: "failure",
    ev.StepAttemptFailed.action: "failure",
    ev.StepFailed.action: "failure",
    ev.RunFailed.action: "failure",
    ev.RunCancelled.action: "cancelled",
}
_OF_DENIALS = frozenset({"policy_denied", "approval_refused"})
"""What runs end as that a rule or a person does not let go on."""
_OF_PRINCIPAL = frozenset({ev.RunCreated.action, ev.RunCancelled.action})
"""What the principal does; everything else the service does on its behalf."""


def _outcome_of(event: ev.Event) -> str:
    """Return the outcome of an event, as its entry has it."""
    match event:
        case ev.PolicyDecided(outcome="denied"):
            return "denied"
        case ev.RunFailed(code=code) if code in _OF_DENIALS:
            return "denied"
        case _:
            return _OUTCOMES.get(event.action, "success")


class LedgerRecorder:
    """Records one run's events in its team's chain, with the rows they change."""

    def __init__(
        self,
        run_id: uuid.UUID,
        order: RunOrder,
        projection: RunProjection,
        hold: Hold | Kept | None = None,
    ) -> None:
        self._run_id = run_id
        self._order = order
        self._projection = projection
        self._hold = hold
        self._is_held = False
        self._service = replace(SERVICE, on_behalf_of=order.actor.display)
        self.stopped_by: Actor | None = None
        """Who cancelled the run, if not its owner."""

    async def record(self, *events: ev.Event) -> None:
        """Return once the events are durable; see `engine.ports.Recorder`.

        Raises also: StaleWrite from the first call if a budget has not enough left.
        """
        writes = self._projection.writes(events)
        if self._hold is not None:
            writes = (*writes, *self._money(self._hold, events))
        drafts = tuple([self._draft(event) for event in events])
        batch = Batch(self._order.team_id, drafts, writes)
        posted_at = perf_counter()
        future = get_writer().post(batch)
        try:
            await asyncio.shield(future)
            LAG.observe(perf_counter() - posted_at)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            future.result()
            raise

    def _money(self, hold: Hold | Kept, events: Sequence[ev.Event]) -> list[RowWrite]:
        """Return what sets money aside at first and settles it at last."""
        writes: list[RowWrite] = []
        if not self._is_held:
            self._is_held = True
            now = datetime.now(UTC)
            writes += hold.opening(self._order.team_id, self._run_id, now)
        if isinstance(events[-1], ev.RunEnd):
            writes += settling(self._run_id, self._projection.view.cost.micros)
        return writes

    def _draft(self, event: ev.Event) -> EntryDraft:
        record = encode(event)
        action = record.action
        return EntryDraft(
            action,
            SUBJECT,
            self._run_id,
            self._actor(action),
            record.data,
            record.bodies,
            _outcome_of(event),
        )

    def _actor(self, action: str) -> Actor:
        order = self._order
        if action == ev.RunCreated.action and order.ignored:
            context = {**order.actor.context, IGNORED_FIELDS: order.ignored}
            return replace(order.actor, context=context)
        if action not in _OF_PRINCIPAL:
            return self._service
        return self.stopped_by or order.actor
