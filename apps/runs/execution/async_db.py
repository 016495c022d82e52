"""The executor's database calls, without blocking the event loop.

Each function runs one of the app's functions in a thread and raises the same errors.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async

from apps.budgets.selectors import reservation_list, standings_peek, standings_read
from apps.budgets.services import (
    reservation_extend,
    reservations_sweep,
    reservations_touch,
)
from apps.budgets.types import Standing
from apps.core.single_flight import SingleFlight
from apps.core.ttl_cache import TtlCache
from apps.pools.selectors import SnapshotKey, peek_snapshot, pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.runs.coordination.cancel_requests import cancel_requests_take
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
from apps.runs.coordination.suspensions import suspensions_read
from apps.runs.models import IdempotencyKey
from apps.runs.planning.likely_costs import PastRun
from apps.runs.records.past_calls import past_runs

ParamsT = ParamSpec("ParamsT")
ResultT = TypeVar("ResultT")


class PoolLoader:
    """Loads pools without blocking the loop; runs that begin together share a read."""

    def __init__(self) -> None:
        self._reads: SingleFlight[SnapshotKey, PoolSnapshot] = SingleFlight(
            _read_snapshot
        )

    async def load(
        self,
        team_id: uuid.UUID,
        pool: str | None,
        conductor: str = "",
        version: int | None = None,
    ) -> PoolSnapshot:
        """Return a pool, None: the default one. Raises: NotFound, PoolUnusable.

        `conductor`: another one of the team plans. `version`: one of the pool's.
        """
        key = team_id, pool, conductor, version
        return peek_snapshot(*key) or await self._reads.get(key)


async def _read_snapshot(key: SnapshotKey) -> PoolSnapshot:
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


class PastRunsLoader:
    """Loads what the latest runs of models took, in the same way.

    Each answer stands for a few seconds: many runs of a team may ask at once.
    """

    def __init__(self) -> None:
        self._known: TtlCache[tuple[uuid.UUID, str], tuple[PastRun, ...]] = TtlCache()
        self._reads: SingleFlight[tuple[uuid.UUID, str], tuple[PastRun, ...]]
        self._reads = SingleFlight(self._read)

    async def load(self, team_id: uuid.UUID, model: str) -> tuple[PastRun, ...]:
        """Return the team's latest completed runs of a model."""
        known = self._known.get((team_id, model))
        return await self._reads.get((team_id, model)) if known is None else known

    async def _read(self, key: tuple[uuid.UUID, str]) -> tuple[PastRun, ...]:
        generation = self._known.generation
        read: tuple[PastRun, ...] = await database_sync_to_async(past_runs)(*key)
        self._known.put(key, read, generation=generation)
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
take_stops = _apart(cancel_requests_take)
read_suspensions = _apart(suspensions_read)


@database_sync_to_async  # type: ignore[untyped-decorator]
def kept_reservations(team_id: uuid.UUID, run_id: uuid.UUID) -> dict[uuid.UUID, int]:
    """Return what a run has set aside, by spend; 0 is what the sweep has freed."""
    return {row.spend_id: row.micros for row in reservation_list(team_id, run_id)}


@database_sync_to_async  # type: ignore[untyped-decorator]
def reservation_raise(team_id: uuid.UUID, run_id: uuid.UUID, micros: int) -> bool:
    """Set so much aside for a run in progress; False: it is not left."""
    return reservation_extend(team_id=team_id, run_id=run_id, micros=micros)


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
