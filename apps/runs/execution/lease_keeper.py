"""Renews this process's lease, and takes up runs without an owner.

Each run of a process finds an owner again: the process releases its runs when it shuts
down, loses them when it stops renewing its lease, and takes up again those that it had
to drop because the ledger was down.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from django.db import DatabaseError, InterfaceError

from apps.runs.coordination.cancel_requests import LOOK_S, CancelRequest
from apps.runs.coordination.leases import RENEW_S, SWEEP_S
from apps.runs.coordination.suspensions import SuspensionBoard
from apps.runs.execution.async_db import (
    claim_runs,
    lease_close,
    lease_open,
    lease_renew,
    lease_reopen,
    owned_runs,
    read_suspensions,
    sweep_leases,
    take_deaths_back,
    take_stops,
)
from apps.runs.models import ProcessKind, Run
from apps.runs.telemetry import metrics

logger = logging.getLogger(__name__)


class RunHost(Protocol):
    """What executes the runs of this process."""

    @property
    def live_ids(self) -> Collection[uuid.UUID]:
        """Return the runs that execute here."""
        ...

    @property
    def room(self) -> int:
        """Return how many more may."""
        ...

    async def take_up(self, runs: Sequence[Run]) -> None:
        """Go on with runs that are this process's now, whatever is wrong with some.

        Raises: OperationalError, InterfaceError.
        """
        ...

    @property
    def suspensions(self) -> SuspensionBoard:
        """Return what this process knows of suspensions."""
        ...

    def stop(self, stop: CancelRequest) -> None:
        """Cancel a run."""
        ...

    def stop_suspended(self) -> None:
        """Cancel the runs of suspended teams."""
        ...

    async def drop_all(self) -> None:
        """Stop executing, without a word on record; return when it has stopped."""
        ...


class LeaseKeeper:
    """The lease of one process."""

    def __init__(self, host: RunHost, kind: ProcessKind, *, leaves_queue: bool) -> None:
        """`leaves_queue`: runs queued a moment ago are left to worker processes."""
        self.lease_id: uuid.UUID
        """Set once it has begun; another one after a lease was lost."""
        self._host = host
        self._kind = kind
        self._leaves_queue = leaves_queue
        self._tasks: list[asyncio.Task[None]] = []
        self._renewing = asyncio.Lock()
        self._sweeping = asyncio.Lock()
        self._asked: dict[uuid.UUID, asyncio.Future[bool]] = {}

    async def begin(self) -> None:
        """Take a lease and keep it. Raises: DatabaseError."""
        self.lease_id = await lease_open(self._kind)
        self._host.suspensions.replace(await read_suspensions())
        self._tasks = [
            asyncio.create_task(_every(seconds, work))
            for seconds, work in (
                (RENEW_S, self.renew),
                (SWEEP_S, self.sweep),
                (LOOK_S, self.look_for_stops),
                (LOOK_S, self.look_for_suspensions),
            )
        ]

    async def end(self) -> None:
        """Give everything back; call it when nothing executes any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await lease_close(self.lease_id)
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("lease not given back, it will run out: %s", exc)

    async def renew(self) -> None:
        """Prolong the lease; if it is over, drop everything and take another one."""
        async with self._renewing:
            if await lease_renew(self.lease_id, len(self._host.live_ids)):
                return
            metrics.LEASES_LOST.add()
            logger.error("lease lost: this process stood still for too long")
            # It is alive: neither it nor its runs are to blame.
            await take_deaths_back(list(self._host.live_ids))
            await self._host.drop_all()
            self.lease_id = await lease_reopen(self._kind)

    async def sweep(self) -> None:
        """Take up runs without an owner, and own runs that are not executing."""
        async with self._sweeping:
            await self.renew()  # after a standstill nothing else may come first
            await sweep_leases(self.lease_id)
            owned = await owned_runs(self.lease_id)
            live = self._host.live_ids
            strays = [run_id for run_id in owned if run_id not in live]
            room, leaves_queue = self._host.room, self._leaves_queue
            runs = await claim_runs(self.lease_id, room, leaves_queue=leaves_queue)
            if strays:
                room -= len(runs)
                runs += await claim_runs(self.lease_id, room, run_ids=strays)
            await self._host.take_up(runs)

    async def claim(self, run_id: uuid.UUID) -> bool:
        """Take up one run; False if it has an owner or ended, or there is no room.

        Concurrent calls are claimed together.
        """
        answer = self._asked.get(run_id)
        if answer is None:
            answer = asyncio.get_running_loop().create_future()
            self._asked[run_id] = answer
        async with self._sweeping:
            if not answer.done():
                await self._claim_asked()
        return answer.result()

    async def _claim_asked(self) -> None:
        asked, self._asked = self._asked, {}
        live = self._host.live_ids
        wanted = [run_id for run_id in asked if run_id not in live]
        taken: set[uuid.UUID] = set()
        try:
            runs = await claim_runs(self.lease_id, self._host.room, run_ids=wanted)
            taken = {run.id for run in runs}
            await self._host.take_up(runs)
        finally:  # what was claimed and not taken up is the next sweep's
            for run_id, answer in asked.items():
                answer.set_result(run_id in taken)

    async def look_for_stops(self) -> None:
        """Cancel the runs that other processes requested to cancel."""
        live = list(self._host.live_ids)
        if live:
            for stop in await take_stops(live):
                self._host.stop(stop)

    async def look_for_suspensions(self) -> None:
        """Read what is suspended, and cancel the runs that are."""
        self._host.suspensions.replace(await read_suspensions())
        self._host.stop_suspended()


async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("leases: the database is away: %s", exc)
