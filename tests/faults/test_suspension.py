"""G9: what is stopped in one process stops in all of them, within seconds."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pytest

from tests.faults.members import POLL_S, ROOT, Member
from tests.faults.scenes import PATIENCE_S, SLOWEST, chain
from tests.faults.site import FaultySite, Servers

pytestmark = pytest.mark.asyncio(loop_scope="module")
Figure = Callable[..., None]
NO_NEW_CALL_S = 2.0
CLOSED_S = 5.0
RUNS = 3
"""In each web process, each with a call in flight that takes 5 s."""
REASON = "A key has leaked"
OF_BOTH = pytest.mark.parametrize(
    "in_background", [False, True], ids=["web processes", "worker process"]
)
"""Which processes execute the runs that are stopped."""


async def start(
    site: FaultySite, member: Member, *, in_background: bool = False
) -> httpx.Response:
    """Ask a web process for a run of many slow steps; a worker process has it then."""
    body = {
        "model": "conductor-ultra",
        "prompt": chain(4, SLOWEST),
        "background": in_background,
    }
    async with httpx.AsyncClient(base_url=member.url, timeout=PATIENCE_S) as http:
        key = f"Bearer {site.servers.key}"
        return await http.post(
            "/api/v1/runs/", json=body, headers={"Authorization": key}
        )


async def begin(site: FaultySite, member: Member, *, in_background: bool) -> None:
    """Start a run, as soon as the processes know that an earlier stop is lifted."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await start(site, member, in_background=in_background)
            if answer.status_code == 201 and (
                not in_background or await is_taken(site, answer.json()["id"])
            ):
                return
            await asyncio.sleep(POLL_S)


async def is_taken(site: FaultySite, run_id: str) -> bool:
    """Wait for a worker process to take a run; False if it then refuses it."""
    run, see = uuid.UUID(run_id), site.witness
    while True:
        has_begun = [
            await asyncio.to_thread(see.written_by, worker.name, [run])
            for worker in site.workers
        ]
        row = await asyncio.to_thread(see.row, run)
        if row.state != "running":
            return False
        if any(has_begun):
            return True
        await asyncio.sleep(POLL_S)


async def counted(site: FaultySite) -> dict[str, Any]:
    """Return what the models have counted."""
    async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
        answer = await http.get(f"{site.servers.models_url}/stats")
    found: dict[str, Any] = answer.json()
    return found


async def calls_in_flight(site: FaultySite, number: int) -> dict[str, Any]:
    """Return what the models have counted once so many calls are in flight."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await counted(site)
            if found["in_flight"] >= number:
                return found
            await asyncio.sleep(POLL_S)


@dataclass
class Watch:
    """What is seen after a stop; times in seconds since it was issued."""

    site: FaultySite
    calls: int
    in_background: bool
    since: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    last_call_s: float = 0.0
    closed_s: float = 0.0
    accepted_s: float = 0.0
    refusals: int = 0

    @property
    def now_s(self) -> float:
        return asyncio.get_running_loop().time() - self.since

    async def look(self) -> None:
        """Note calls that were made, and when none was in flight any more."""
        found = await counted(self.site)
        if found["total"] > self.calls:
            self.calls, self.last_call_s = found["total"], self.now_s
        if found["in_flight"]:
            self.closed_s = 0.0
        else:
            self.closed_s = self.closed_s or self.now_s

    async def knock(self, member: Member) -> None:
        """Ask for a run; note when a process accepted one last."""
        answer = await start(self.site, member, in_background=self.in_background)
        if answer.status_code == 201:
            self.accepted_s = self.now_s
        else:
            assert answer.json()["error"]["code"] == "runs_suspended", answer.text
            assert REASON in answer.json()["error"]["message"]
            self.refusals += 1


async def watched_stop(
    site: FaultySite,
    figure: Figure,
    stop: Callable[[], Awaitable[None]],
    *,
    in_background: bool,
) -> None:
    """Issue a stop while runs are going, and hold it to the figures.

    `in_background`: worker processes execute the runs, not web processes.
    """
    for member in site.webs * RUNS:
        await begin(site, member, in_background=in_background)
    expected = RUNS * len(site.webs)
    before = await calls_in_flight(site, expected)
    executing = await asyncio.to_thread(executed_by, site)
    assert executing == ({"worker"} if in_background else {"web"})
    await stop()
    watch = Watch(site, (await counted(site))["total"], in_background)
    while watch.now_s < CLOSED_S + NO_NEW_CALL_S:
        for member in site.webs:
            await watch.knock(member)
        await watch.look()
        await asyncio.sleep(POLL_S)
    after = await counted(site)
    figure(
        last_call_s=round(watch.last_call_s, 1),
        sockets_closed_s=round(watch.closed_s, 1),
        last_accepted_s=round(watch.accepted_s, 1),
        refused_runs=watch.refusals,
    )
    assert watch.last_call_s <= NO_NEW_CALL_S
    assert 0 < watch.closed_s <= CLOSED_S
    assert watch.accepted_s <= NO_NEW_CALL_S
    assert watch.refusals > 0
    # A few calls may have ended by themselves just before the stop.
    assert after["disconnected"] - before["disconnected"] >= expected // 2
    await site.settled(PATIENCE_S)
    assert await asyncio.to_thread(site.witness.unfinished) == 0
    assert await site.verify_ledger() == ""


def executed_by(site: FaultySite) -> set[str]:
    """Return which kinds of processes have runs."""
    kinds = {"web": site.webs, "worker": site.workers}
    return {
        kind
        for kind, members in kinds.items()
        if any(site.witness.owned(member.name) for member in members)
    }


async def command(site: FaultySite, *arguments: str) -> None:
    """Give an order of the operator, in a process of its own."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "manage.py", "runs_suspend", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": site.witness.url, "REDIS_URL": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def recorded(site: FaultySite) -> list[str]:
    """Return what is on record of stops, in order."""
    query = (
        "SELECT action FROM audit_entry "
        "WHERE action IN ('team.suspended', 'team.resumed') ORDER BY seq"
    )
    with psycopg.connect(site.witness.url) as connection:
        return [action for (action,) in connection.execute(query).fetchall()]


def owner(servers: Servers, member: Member) -> httpx.AsyncClient:
    """Return the browser of the team's owner, at one of the web processes."""
    token = "t" * 32
    headers = {
        "Cookie": f"{servers.session}; csrftoken={token}",
        "X-CSRFToken": token,
        "Origin": member.url,
    }
    return httpx.AsyncClient(base_url=member.url, headers=headers, timeout=PATIENCE_S)


@OF_BOTH
async def test_g9_a_team_that_is_stopped_in_one_process_stops_in_all(
    site: FaultySite, figure: Figure, in_background: bool
) -> None:
    before = await asyncio.to_thread(recorded, site)
    async with owner(site.servers, site.webs[0]) as browser:

        async def stop() -> None:
            answer = await browser.post(
                "/api/v1/team/suspension/", json={"reason": REASON}
            )
            assert answer.status_code == 200, answer.text

        await watched_stop(site, figure, stop, in_background=in_background)
        lifted = await browser.delete("/api/v1/team/suspension/")
        assert lifted.status_code == 204, lifted.text
    now = await asyncio.to_thread(recorded, site)
    assert now[len(before) :] == ["team.suspended", "team.resumed"]


@OF_BOTH
async def test_g9_a_site_that_is_stopped_by_a_command_stops_in_all_processes(
    site: FaultySite, figure: Figure, in_background: bool
) -> None:
    before = await asyncio.to_thread(recorded, site)
    await watched_stop(
        site,
        figure,
        lambda: command(site, "--site", "--reason", REASON),
        in_background=in_background,
    )
    await command(site, "--site", "--lift")
    now = await asyncio.to_thread(recorded, site)
    assert now[len(before) :] == ["team.suspended", "team.resumed"]
