"""Redis and PostgreSQL go and come back: the figures of G5 and G6."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import pytest
import redis.asyncio as redis_client
from websockets.asyncio.client import connect
from websockets.typing import Origin

from conductor_site.shutdown_deadline import CLOSE_S
from tests.faults.checker import COMPLETED
from tests.faults.scenes import (
    PATIENCE_S,
    ask,
    chain,
    leave,
    owned_by,
    restarted,
    run_of,
    unharmed,
)
from tests.faults.site import SETTINGS, FaultySite
from tests.services import Redis

pytestmark = pytest.mark.asyncio(loop_scope="module")
REDIS_S = 30.0
DATABASE_S = 10.0
OUTAGE_S = 2.0
STOP_S = int(SETTINGS["WEB_DRAIN_S"]) + CLOSE_S
SLOW_S = 5.0
"""What a slow machine may add to it."""
ASK_S = 0.1
Figure = Callable[..., None]


async def test_redis_is_disposable_and_sockets_catch_up(
    site: FaultySite, figure: Figure
) -> None:
    web = site.webs[0]
    run_id = run_of(await leave(site, web, chain(5)))
    async with connect(
        f"{web.url.replace('http', 'ws')}/ws/runs/{run_id}/?after=0",
        additional_headers={"Cookie": site.servers.session},
        origin=Origin(web.url),
    ) as socket:
        await flush_and_restart(site.servers.redis)
        back_at = time.monotonic()
        later = run_of(await leave(site, web, chain(1)))
        async with asyncio.timeout(REDIS_S):
            frames = [str(frame) async for frame in socket]
    await site.settled(REDIS_S)
    row = await asyncio.to_thread(site.witness.row, later)
    seconds = round(time.monotonic() - back_at, 1)
    await unharmed(site)
    figure(working_after_redis_is_back_s=seconds)
    assert any("run.completed" in frame for frame in frames)
    assert row.state == COMPLETED
    assert seconds <= REDIS_S


async def flush_and_restart(server: Redis) -> None:
    """Make Redis forget everything, then kill it three times in a row."""
    client = redis_client.Redis.from_url(server.url)
    await client.flushall()
    await client.aclose()
    for _ in range(3):
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)


@dataclass
class Told:
    """What a client was told that asks again and again."""

    statuses: Counter[int] = field(default_factory=Counter)
    accepted: set[uuid.UUID] = field(default_factory=set)

    def hear(self, answer: httpx.Response) -> None:
        self.statuses[answer.status_code] += 1
        if answer.is_success:
            self.accepted.add(run_of(answer))
        elif answer.status_code == 503:
            assert int(answer.headers["retry-after"]) > 0

    async def ask_until(self, site: FaultySite, is_enough: Callable[[], bool]) -> None:
        """Start runs until `is_enough` after one was accepted."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                answer = await leave(site, site.webs[0], chain(1))
                self.hear(answer)
                if answer.is_success and is_enough():
                    return
                await asyncio.sleep(ASK_S)


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_postgresql_restarts_are_survived(
    site: FaultySite, figure: Figure, way: str
) -> None:
    told, is_back = Told(), asyncio.Event()
    await told.ask_until(site, lambda: len(told.accepted) >= 3)
    asking = asyncio.create_task(told.ask_until(site, is_back.is_set))
    database = site.servers.database
    await asyncio.to_thread(getattr(database, way))
    await asyncio.sleep(OUTAGE_S)
    await asyncio.to_thread(database.start)
    back_at = time.monotonic()
    is_back.set()
    await asking
    seconds = round(time.monotonic() - back_at, 1)
    await unharmed(site)
    on_record = await asyncio.to_thread(site.witness.run_ids)
    figure(**{f"back_after_{way}_s": seconds, "answers": dict(told.statuses)})
    assert told.accepted <= on_record
    assert set(told.statuses) <= {200, 503}
    assert seconds <= DATABASE_S


async def test_g6_who_cannot_close_while_the_database_is_silent_ends_in_time(
    site: FaultySite, figure: Figure
) -> None:
    victim, other = site.webs
    lost = asyncio.create_task(ask(site, victim, chain(4), "silent"))
    await owned_by(site, victim, 1)
    victim.database.stall()
    begun_at = time.monotonic()
    await victim.stop()
    seconds = round(time.monotonic() - begun_at, 1)
    victim.database.heal()
    await asyncio.gather(lost, return_exceptions=True)
    await ask(site, other, chain(4), "silent")
    await restarted(victim)
    await unharmed(site)
    figure(stopped_while_the_database_was_silent_s=seconds)
    assert seconds <= STOP_S + SLOW_S
