"""The engine's recorder over the ledger, and what runs read of the database.

The bridge between the engine and Django: what the engine needs of the ORM goes through
a thread here. What sockets read of it is in `history.py`, `rooms.py` and `watchers.py`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async

from apps.audit.metrics import LAG
from apps.audit.types import Actor, Batch, EntryDraft, RowWrite
from apps.audit.writer import get_writer
from apps.budgets.reservations import Hold, Kept, settling
from apps.budgets.selectors import reservation_list, standings_peek, standings_read
from apps.budgets.services import reservations_sweep, reservations_touch
from apps.budgets.types import Standing
from apps.core.single_flight import SingleFlight
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.pools.selectors import peek_snapshot, pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.runs.coordination.cancel_requests import stops_take
from apps.runs.coordination.leases import (
    deaths_take_back,
    is_owned,
    leases_sweep,
    process_close,
    process_open,
    process_renew,
    process_reopen,
    runs_claim,
    runs_owned,
)
from apps.runs.models import IdempotencyKey
from apps.runs.records.projection import RunProjection
from apps.runs.types import RunOrder
from apps.runs.usage.rollup_schedule import UsageWatch, usage_keep

ParamsT = ParamSpec("ParamsT")
ResultT = TypeVar("ResultT")
SUBJECT = "run"
_OUTCOMES = {
    ev.PlanCallFailed.action: "failure",
    ev.PlanRejectedEvent.action: "failure",
    ev.StepAttemptFailed.action: "failure",
    ev.StepFailed.action: "failure",
    ev.RunFailed.action: "failure",
    ev.RunCancelled.action: "cancelled",
}
_BY_CALLER = frozenset({ev.RunCreated.action, ev.RunCancelled.action})
"""What a person or key does; everything else the service does for them."""


_ENDS = (ev.RunCompleted, ev.RunFailed, ev.RunCancelled)


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
        self._service = Actor(
            "service", "conductor", "Conductor", on_behalf_of=order.actor.display
        )
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
        if isinstance(events[-1], _ENDS):
            writes += settling(self._run_id, self._projection.tally.cost.micros)
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
            _OUTCOMES.get(action, "success"),
            self._order.context if action == ev.RunCreated.action else {},
        )

    def _actor(self, action: str) -> Actor:
        if action not in _BY_CALLER:
            return self._service
        return self.stopped_by or self._order.actor


class PoolLoader:
    """Loads pools without blocking the loop; runs that begin together share a read."""

    def __init__(self) -> None:
        self._reads: SingleFlight[tuple[uuid.UUID, str | None], PoolSnapshot] = (
            SingleFlight(_read_snapshot)
        )

    async def load(self, team_id: uuid.UUID, pool: str | None) -> PoolSnapshot:
        """Return a pool, None: the default one. Raises: NotFound, PoolUnusable."""
        known = peek_snapshot(team_id, pool)
        return known or await self._reads.get((team_id, pool))


async def _read_snapshot(key: tuple[uuid.UUID, str | None]) -> PoolSnapshot:
    read: PoolSnapshot = await database_sync_to_async(pool_snapshot)(*key)
    return read


class StandingLoader:
    """Loads teams' budgets in the same way."""

    def __init__(self) -> None:
        self._reads: SingleFlight[uuid.UUID, tuple[Standing, ...]] = SingleFlight(
            _read_standings
        )

    async def load(self, team_id: uuid.UUID) -> tuple[Standing, ...]:
        """Return a team's budgets as they stood a few seconds ago or less."""
        known = standings_peek(team_id)
        return await self._reads.get(team_id) if known is None else known

    async def load_anew(self, team_id: uuid.UUID) -> tuple[Standing, ...]:
        """Return a team's budgets as they stand now."""
        return await self._reads.get(team_id)


async def _read_standings(team_id: uuid.UUID) -> tuple[Standing, ...]:
    read: tuple[Standing, ...] = await database_sync_to_async(standings_read)(team_id)
    return read


# Leases have threads of their own: a slow page must not cost a process its runs.


def _apart(
    function: Callable[ParamsT, ResultT],
) -> Callable[ParamsT, Awaitable[ResultT]]:
    apart: Callable[ParamsT, Awaitable[ResultT]] = database_sync_to_async(
        function, thread_sensitive=False
    )
    return apart


still_owned = _apart(is_owned)
lease_open = _apart(process_open)
lease_reopen = _apart(process_reopen)
lease_renew = _apart(process_renew)
lease_close = _apart(process_close)
sweep_leases = _apart(leases_sweep)
claim_runs = _apart(runs_claim)
owned_runs = _apart(runs_owned)
take_deaths_back = _apart(deaths_take_back)
take_stops = _apart(stops_take)
# Nor must the sums of a large team cost anybody a page.
_keep_usage = _apart(usage_keep)
_usage_due = _apart(UsageWatch.due)


class UsageKeeper:
    """Keeps what teams used, added up, as long as this process is the eldest."""

    def __init__(self) -> None:
        self._watch = UsageWatch()

    async def keep(self, lease_id: uuid.UUID) -> None:
        """Keep what is due now. Raises: DatabaseError; the next time does it then."""
        for team_id in await _usage_due(self._watch, lease_id):
            await _keep_usage(team_id)
        self._watch.done()


@database_sync_to_async  # type: ignore[untyped-decorator]
def kept_reservations(team_id: uuid.UUID, run_id: uuid.UUID) -> dict[uuid.UUID, int]:
    """Return what a run has set aside, by spend; 0 is what the sweep has freed."""
    return {row.spend_id: row.micros for row in reservation_list(team_id, run_id)}


@database_sync_to_async  # type: ignore[untyped-decorator]
def reservations_keep(run_ids: list[uuid.UUID]) -> None:
    """Say that these runs are executing; free what others left behind."""
    if run_ids:
        reservations_touch(run_ids)
    reservations_sweep()


@database_sync_to_async  # type: ignore[untyped-decorator]
def key_stands_for(team_id: uuid.UUID, key: str, run_id: uuid.UUID) -> bool:
    """Say whether an idempotency key stands for this run."""
    rows = IdempotencyKey.objects.for_team(team_id)
    return rows.filter(key=key, run_id=run_id).exists()


@database_sync_to_async  # type: ignore[untyped-decorator]
def idempotency_sweep() -> None:
    """Forget idempotency keys whose day is over."""
    IdempotencyKey.objects.across_teams().over(datetime.now(UTC)).delete()
