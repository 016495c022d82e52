"""What tests of single faults do with a site: runs that take long, and waiting."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence

import httpx

from tests.faults.members import POLL_S, Member
from tests.faults.site import FaultySite

PATIENCE_S = 60.0
RECOVERY_S = 15.0
"""From a kill until another process has the run (G3)."""
SLOW, SLOWEST = 3, 4
"""Numbers of the workers that take 800 and 5,000 ms."""


def chain(steps: int, worker: int = SLOW) -> str:
    """Return a question whose plan is so many slow steps, one after the other."""
    parts = [f"Part {n}." for n in range(steps)]
    return (
        f"chain <<plan\nmodel_id = {[worker] * steps}\nsubtasks = {parts}\n"
        f"access_list = {['all'] * steps}>>"
    )


async def ask(site: FaultySite, member: Member, prompt: str, key: str) -> str:
    """Ask a web process, which stays with the run, and return the run's id.

    Raises: httpx.TransportError if the connection breaks; httpx.HTTPStatusError.
    """
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": prompt}],
    }
    async with _client(site, member, timeout=PATIENCE_S) as http:
        answer = await http.post(
            "/v1/chat/completions", json=body, headers={"Idempotency-Key": key}
        )
    answer.raise_for_status()
    return str(answer.headers["x-conductor-run-id"])


async def leave(site: FaultySite, member: Member, prompt: str) -> httpx.Response:
    """Leave a run to the workers and return what the web process says."""
    body = {"model": "conductor-ultra", "input": prompt, "background": True}
    async with _client(site, member, timeout=PATIENCE_S) as http:
        return await http.post("/v1/responses", json=body)


def run_of(answer: httpx.Response) -> uuid.UUID:
    """Return the run that was left to the workers."""
    answer.raise_for_status()
    return uuid.UUID(answer.json()["id"].removeprefix("resp_"))


def _client(site: FaultySite, member: Member, *, timeout: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=member.url,
        headers={"Authorization": f"Bearer {site.servers.key}"},
        timeout=timeout,
    )


async def owned_by(
    site: FaultySite, member: Member, count: int, *, steps: int = 1
) -> list[uuid.UUID]:
    """Return the runs of a process once it has so many, each with `steps` done."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            owned = await asyncio.to_thread(site.witness.owned, member.name)
            done = await asyncio.to_thread(site.witness.steps_done, owned)
            if len(owned) >= count and all(number >= steps for number in done):
                return owned
            await asyncio.sleep(POLL_S)


async def left_by(site: FaultySite, member: Member, runs: Sequence[uuid.UUID]) -> float:
    """Return the seconds until each of the runs was another process's."""
    former = member.name  # it may begin another life meanwhile
    since = await asyncio.to_thread(site.witness.now)
    slowest = 0.0
    async with asyncio.timeout(PATIENCE_S):
        for run_id in runs:
            hand = None
            while hand is None or hand.process == former:
                await asyncio.sleep(POLL_S)
                hand = await asyncio.to_thread(site.witness.taken, run_id, since)
            slowest = max(slowest, (hand.at - since).total_seconds())
    return round(slowest, 1)


async def unharmed(site: FaultySite) -> None:
    """Let everything end, and check all that has happened on the site."""
    await site.settled(PATIENCE_S)
    verdict = await site.judged([], frozenset())
    assert not verdict.defects, "\n".join(verdict.defects)


async def restarted(member: Member) -> None:
    """Start a process that has died, and return once it is at work."""
    member.start()
    await member.ready()
