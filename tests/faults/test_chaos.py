"""Many runs while everything dies around them: none is lost, doubled or stuck."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.chaos import Blow, Chaos
from tests.faults.clients import KEYED, Clients, jobs_of
from tests.faults.conftest import RUNS, SEED
from tests.faults.site import FaultySite, Servers, faulty_site

PER_S = 1.5
"""How many runs begin in a second."""
PATIENCE_S = 60.0
"""From the last fault until everything has ended (G1)."""


async def test_no_run_is_lost_doubled_or_stuck(
    shared_servers: Servers, tmp_path: Path, figure: Callable[..., None]
) -> None:
    jobs = jobs_of(SEED, RUNS, PER_S)
    async with faulty_site(shared_servers, tmp_path) as site:
        clients = Clients(site.urls, shared_servers.key, SEED)
        chaos = Chaos(site, SEED)
        work = asyncio.create_task(clients.work(jobs))
        await chaos.rage(RUNS / PER_S)
        healed_at = time.monotonic()
        await asyncio.wait([work], timeout=PATIENCE_S)
        await site.settled(PATIENCE_S - (time.monotonic() - healed_at))
        ended_s = time.monotonic() - healed_at
        (tmp_path / "answers.txt").write_text("\n".join(clients.heard.answers))
        keyed = frozenset(job.name for job in jobs if job.kind in KEYED)
        verdict = await site.judged(list(clients.heard.accepted.values()), keyed)
        figure(
            seed=SEED,
            logs=str(tmp_path),
            faults=dict(chaos.counts),
            ended_after_the_last_fault_s=round(ended_s, 1),
            recovered_s=recoveries(site, chaos.blows),
            answers=dict(clients.heard.statuses),
            unkind_answers=dict(clients.heard.unkind),
            **verdict.figures,
        )
        assert not verdict.defects, "\n".join(verdict.defects)
        assert not clients.heard.unkind, clients.heard.unkind
        assert work.done(), {job.name for job in jobs} - clients.heard.ended
        await work


def recoveries(site: FaultySite, blows: list[Blow]) -> list[float]:
    """Return how long each run of a killed process was nobody's, longest first."""
    found = []
    for blow in blows:
        for run_id in blow.held:
            assert blow.at is not None
            hand = site.witness.taken(run_id, blow.at)
            if hand is None:
                continue  # it ended in that very moment
            found.append(round((hand.at - blow.at).total_seconds(), 1))
    return sorted(found, reverse=True)
