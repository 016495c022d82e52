"""Without leases the harness must fail: it sees what they prevent."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.faults.chaos import BEYOND_LEASE_S
from tests.faults.sabotage import NO_FENCE, NO_SWEEP
from tests.faults.scenes import ask, chain, left_by, owned_by
from tests.faults.site import Servers, faulty_site

LONG_ENOUGH_S = BEYOND_LEASE_S + 2.5
"""With leases, a killed process's run has long been another's."""


async def test_run_is_seen_to_be_stuck_when_nobody_sweeps(
    shared_servers: Servers, tmp_path: Path
) -> None:
    async with faulty_site(
        shared_servers, tmp_path, workers=0, sabotage=NO_SWEEP
    ) as site:
        victim = site.webs[0]
        lost = asyncio.create_task(ask(site, victim, chain(4), "lost"))
        (run_id,) = await owned_by(site, victim, 1)
        await victim.kill()
        await asyncio.gather(lost, return_exceptions=True)
        await site.settled(LONG_ENOUGH_S)
        verdict = await site.judged([], frozenset())
    assert verdict.stuck == (str(run_id),)


async def test_stale_writes_are_seen_when_nobody_checks_the_fence(
    shared_servers: Servers, tmp_path: Path
) -> None:
    async with faulty_site(
        shared_servers, tmp_path, workers=0, sabotage=NO_FENCE
    ) as site:
        victim = site.webs[0]
        late = asyncio.create_task(ask(site, victim, chain(5), "late"))
        runs = await owned_by(site, victim, 1)
        victim.freeze()
        await left_by(site, victim, runs)
        victim.wake()
        await asyncio.gather(late, return_exceptions=True)
        await site.settled(LONG_ENOUGH_S)
        verdict = await site.judged([], frozenset())
    assert verdict.stale_writes
