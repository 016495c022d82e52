"""A schedule of faults, decided by a seed, and what each of them does to the site."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import redis.asyncio as redis_client

from apps.runs.coordination.leases import LEASE_S
from tests.faults.members import POLL_S, Member
from tests.faults.site import FaultySite

BEYOND_LEASE_S = LEASE_S + 2.5
"""How long a process is frozen or cut off for: others have taken its runs by then."""
RESTART_S = (0.2, 2.0)
"""How long a process that died stays away."""
AT_ONCE = 2
"""Processes that suffer at the same time, of three or more."""
GAP_S = (1.0, 5.0)
"""From one fault's beginning to the next one's."""
BRIEF_S = (0.5, 3.0)
"""How long a stall or an outage of a server takes."""


IDLE_S = 6.0
"""How long a fault waits for its process to have a run."""


@dataclass(frozen=True, slots=True)
class Blow:
    """A fault that has happened."""

    name: str
    at_s: float
    """From the start of the chaos."""
    process: str = ""
    at: datetime | None = None
    """In database time, if a process died of it."""
    held: tuple[uuid.UUID, ...] = ()
    """Runs that the process held then."""


@dataclass
class Chaos:
    """Does one fault after another, some at the same time, until it is stopped."""

    site: FaultySite
    seed: int
    blows: list[Blow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._begun_at = time.monotonic()
        self._servers = asyncio.Lock()
        self._processes = asyncio.Semaphore(AT_ONCE)

    @property
    def counts(self) -> Counter[str]:
        """Return how often each fault happened."""
        return Counter(blow.name for blow in self.blows)

    @property
    def kinds(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return every kind of fault that this site can suffer."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self.kill_web,
            self.kill_web_alone,
            self.freeze_web,
            self.freeze_web_alone,
            self.part_from_database,
            self.stall_database,
            self.cut_connections,
            self.slow_network,
            self.redis_flush,
            self.redis_restarts,
            self.redis_stall,
            self.database_restart,
            self.database_crash,
        ]
        if self.site.workers:
            kinds += [self.kill_worker, self.freeze_worker, self.stop_web]
        if self.site.beats:
            kinds.append(self.kill_beat)
        return kinds

    async def rage(self, seconds: float) -> None:
        """Return when the time is over, every fault has passed and all is healed."""
        self._begun_at = time.monotonic()
        async with asyncio.TaskGroup() as faults:
            while (left_s := seconds - self._now()) > 0:
                round_ = list(self.kinds)
                self._chance.shuffle(round_)
                for kind in round_:
                    left_s = seconds - self._now()
                    if left_s <= 0:
                        break
                    faults.create_task(kind())  # type: ignore[arg-type]
                    await asyncio.sleep(min(left_s, self._chance.uniform(*GAP_S)))
        for member in self.site.members:
            member.database.heal()
            member.redis.heal()

    # --- processes -------------------------------------------------------------------

    async def kill_web(self) -> None:
        """SIGKILL for a web process and the ledger's writer beside it."""
        await self._kill("kill web", self.site.webs)

    async def kill_web_alone(self) -> None:
        """SIGKILL for a web process: what it had sent is still written."""
        await self._kill("kill web alone", self.site.webs, alone=True)

    async def kill_worker(self) -> None:
        """SIGKILL for a worker."""
        await self._kill("kill worker", self.site.workers)

    async def kill_beat(self) -> None:
        """SIGKILL for the beat."""
        await self._kill("kill beat", self.site.beats)

    async def stop_web(self) -> None:
        """SIGTERM: a rolling restart."""
        async with self._at(self.site.webs) as member:
            self._note("stop web", member)
            await member.stop()
            await self._again(member)

    async def freeze_web(self) -> None:
        """Freeze a web process, its writer too, beyond its lease."""
        await self._freeze("freeze web", self.site.webs)

    async def freeze_web_alone(self) -> None:
        """Freeze a web process alone: its writer goes on with what it has."""
        await self._freeze("freeze web alone", self.site.webs, alone=True)

    async def freeze_worker(self) -> None:
        """Freeze a worker beyond its lease."""
        await self._freeze("freeze worker", self.site.workers)

    # --- network ---------------------------------------------------------------------

    async def part_from_database(self) -> None:
        """Let nothing pass between a process and the database, beyond its lease."""
        async with self._at([*self.site.webs, *self.site.workers]) as member:
            self._note("part from database", member)
            member.database.stall()
            await asyncio.sleep(BEYOND_LEASE_S)
            member.database.heal()

    async def stall_database(self) -> None:
        """Let nothing pass between a process and the database, for a moment."""
        async with self._at([*self.site.webs, *self.site.workers]) as member:
            self._note("stall database", member)
            member.database.stall()
            await asyncio.sleep(self._chance.uniform(*BRIEF_S))
            member.database.heal()

    async def cut_connections(self) -> None:
        """Break every connection of every process."""
        self._note("cut connections")
        for member in self.site.members:
            await member.database.cut()
            await member.redis.cut()

    async def slow_network(self) -> None:
        """Let everything of a process arrive late."""
        async with self._at([*self.site.webs, *self.site.workers]) as member:
            self._note("slow network", member)
            member.database.delay(0.03)
            member.redis.delay(0.03)
            await asyncio.sleep(self._chance.uniform(*BRIEF_S))
            member.database.heal()
            member.redis.heal()

    async def redis_stall(self) -> None:
        """Let Redis hang for everybody."""
        self._note("redis stall")
        for member in self.site.members:
            member.redis.stall()
        await asyncio.sleep(self._chance.uniform(*BRIEF_S))
        for member in self.site.members:
            member.redis.heal()

    # --- servers ---------------------------------------------------------------------

    async def redis_flush(self) -> None:
        """Make Redis forget everything."""
        async with self._servers:
            self._note("redis flush")
            client = redis_client.Redis.from_url(self.site.servers.redis.url)
            await client.flushall()
            await client.aclose()

    async def redis_restarts(self) -> None:
        """Kill Redis, three times in a row."""
        async with self._servers:
            self._note("redis kill, three times")
            for _ in range(3):
                await asyncio.to_thread(self.site.servers.redis.kill)
                await asyncio.sleep(self._chance.uniform(0.1, 1.0))
                await asyncio.to_thread(self.site.servers.redis.start)

    async def database_restart(self) -> None:
        """Restart PostgreSQL in order ("fast")."""
        async with self._servers:
            self._note("database restart")
            await asyncio.to_thread(self.site.servers.database.stop)
            await asyncio.sleep(self._chance.uniform(*BRIEF_S))
            await asyncio.to_thread(self.site.servers.database.start)

    async def database_crash(self) -> None:
        """Kill PostgreSQL: it recovers from its log."""
        async with self._servers:
            self._note("database crash")
            await asyncio.to_thread(self.site.servers.database.kill)
            await asyncio.sleep(self._chance.uniform(*BRIEF_S))
            await asyncio.to_thread(self.site.servers.database.start)

    # --- parts -----------------------------------------------------------------------

    async def _kill(
        self, name: str, members: Sequence[Member], *, alone: bool = False
    ) -> None:
        async with self._at(members) as member:
            await self._until_at_work(member)
            async with self._servers:  # the database must be there to tell what it held
                held = await asyncio.to_thread(self.site.witness.owned, member.name)
                at = await asyncio.to_thread(self.site.witness.now)
                self._note(name, member, at, tuple(held))
                await member.kill(alone=alone)
            await self._again(member)

    async def _freeze(
        self, name: str, members: Sequence[Member], *, alone: bool = False
    ) -> None:
        async with self._at(members) as member:
            await self._until_at_work(member)
            self._note(name, member)
            member.freeze(alone=alone)
            await asyncio.sleep(BEYOND_LEASE_S)
            member.wake()

    async def _until_at_work(self, member: Member) -> None:
        """Wait until a process has a run, if it gets one, and a random moment more.

        A blow at an idle process shows nothing.
        """
        give_up_at = time.monotonic() + IDLE_S
        while time.monotonic() < give_up_at:
            async with self._servers:
                if await asyncio.to_thread(self.site.witness.owned, member.name):
                    break
            await asyncio.sleep(POLL_S)
        await asyncio.sleep(self._chance.uniform(0, 1))

    async def _again(self, member: Member) -> None:
        """Start a process anew; while the database is away it gives up and is tried on.

        As a supervisor does.
        """
        while True:
            await asyncio.sleep(self._chance.uniform(*RESTART_S))
            member.start()
            try:
                await member.ready()
            except AssertionError:
                continue
            return

    def _at(self, members: Sequence[Member]) -> _Hold:
        shuffled = self._chance.sample(list(members), k=len(members))
        return _Hold(self._processes, shuffled)

    def _now(self) -> float:
        return time.monotonic() - self._begun_at

    def _note(
        self,
        name: str,
        member: Member | None = None,
        at: datetime | None = None,
        held: tuple[uuid.UUID, ...] = (),
    ) -> None:
        process = member.name if member else ""
        self.blows.append(Blow(name, round(self._now(), 2), process, at, held))


class _Hold:
    """Takes the first process that no other fault is at, or waits for one."""

    def __init__(self, at_once: asyncio.Semaphore, members: Sequence[Member]) -> None:
        self._at_once = at_once
        self._members = members

    async def __aenter__(self) -> Member:
        await self._at_once.acquire()
        free = [member for member in self._members if not member.busy.locked()]
        self._member = (free or self._members)[0]
        await self._member.busy.acquire()
        return self._member

    async def __aexit__(self, *_: object) -> None:
        self._member.busy.release()
        self._at_once.release()
