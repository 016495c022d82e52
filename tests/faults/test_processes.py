"""Processes die or stand still, one at a time: the figures of G3 and G4."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import httpx
import pytest

from tests.faults.chaos import BEYOND_LEASE_S
from tests.faults.checker import MAX_DEATHS, OWNER_LOST
from tests.faults.scenes import (
    PATIENCE_S,
    RECOVERY_S,
    SLOWEST,
    ask,
    chain,
    left_by,
    owned_by,
    restarted,
    unharmed,
)
from tests.faults.site import FaultySite

pytestmark = pytest.mark.asyncio(loop_scope="module")
Figure = Callable[..., None]


async def test_runs_of_a_killed_process_are_anothers_within_15_s(
    site: FaultySite, figure: Figure
) -> None:
    victim, other = site.webs
    lost = [
        asyncio.create_task(ask(site, victim, chain(4), f"killed-{n}"))
        for n in range(4)
    ]
    runs = await owned_by(site, victim, len(lost))
    await victim.kill()
    seconds = await left_by(site, victim, runs)
    answers = [
        await ask(site, other, chain(4), f"killed-{n}") for n in range(len(lost))
    ]
    broken = await asyncio.gather(*lost, return_exceptions=True)
    await restarted(victim)
    assert all(isinstance(failure, httpx.TransportError) for failure in broken)
    assert sorted(answers) == sorted(map(str, runs))  # the same runs, not new ones
    await unharmed(site)
    figure(recovered_after_a_kill_s=seconds)
    assert seconds <= RECOVERY_S


async def test_nothing_is_accepted_of_a_process_that_wakes_after_its_lease(
    site: FaultySite, figure: Figure
) -> None:
    victim, other = site.webs
    late = [
        asyncio.create_task(ask(site, victim, chain(4), f"frozen-{n}"))
        for n in range(4)
    ]
    runs = await owned_by(site, victim, len(late))
    before = await asyncio.to_thread(site.witness.written_by, victim.name, runs)
    victim.freeze()
    seconds = await left_by(site, victim, runs)
    await asyncio.sleep(max(0.0, BEYOND_LEASE_S - seconds))
    victim.wake()
    for n in range(len(late)):
        await ask(site, other, chain(4), f"frozen-{n}")
    await asyncio.gather(*late, return_exceptions=True)
    after = await asyncio.to_thread(site.witness.written_by, victim.name, runs)
    await unharmed(site)
    figure(recovered_while_frozen_s=seconds, stale_writes_accepted=after - before)
    assert after == before


async def test_run_that_three_processes_died_with_is_given_up_by_name(
    site: FaultySite, figure: Figure
) -> None:
    members = {member.place: member for member in (*site.webs, *site.workers)}
    victim = site.webs[0]
    poison = chain(4, SLOWEST)
    asking = asyncio.create_task(ask(site, victim, poison, "poison"))
    (run_id,) = await owned_by(site, victim, 1, steps=0)
    begun_at = time.monotonic()
    starting: dict[str, asyncio.Task[None]] = {}
    for _ in range(MAX_DEATHS):
        if victim.place in starting:
            await starting[victim.place]
        await victim.kill()
        # Meanwhile: on a slow machine the run would have ended before a start has.
        starting[victim.place] = asyncio.create_task(restarted(victim))
        await left_by(site, victim, [run_id])
        owner = await asyncio.to_thread(site.witness.owner, run_id)
        victim = members[owner.rsplit("-", 1)[0]]
    await asyncio.gather(asking, return_exceptions=True)
    await site.settled(PATIENCE_S)
    seconds = round(time.monotonic() - begun_at, 1)
    await asyncio.gather(*starting.values())
    row = await asyncio.to_thread(site.witness.row, run_id)
    await unharmed(site)
    figure(given_up_after_the_first_of_three_kills_s=seconds)
    assert (row.state, row.error_code, row.deaths) == ("failed", OWNER_LOST, 3)
