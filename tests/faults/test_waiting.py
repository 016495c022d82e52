"""A plan that waits for people outlives the process that asked them."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import httpx
import pytest

from tests.faults.checker import MAX_DEATHS
from tests.faults.members import POLL_S, Member
from tests.faults.scenes import PATIENCE_S, chain, left_by, restarted, unharmed
from tests.faults.site import FaultySite

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOKEN = "t" * 32
HOLD = {
    "name": "Escrow",
    "conditions": {"words": ["escrow"]},
    "effect": {"kind": "require_approval"},
}


def person(site: FaultySite, member: Member) -> httpx.AsyncClient:
    """Return a signed-in owner who uses this web process."""
    return httpx.AsyncClient(
        base_url=f"{member.url}/api/v1",
        headers={
            "Cookie": f"{site.servers.session}; csrftoken={TOKEN}",
            "X-CSRFToken": TOKEN,
            "Origin": member.url,
            "If-Match": "*",
        },
        timeout=PATIENCE_S,
    )


def program(site: FaultySite, member: Member) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {site.servers.key}"}
    return httpx.AsyncClient(
        base_url=f"{member.url}/api/v1", headers=headers, timeout=PATIENCE_S
    )


async def rules(site: FaultySite, *given: Any) -> None:
    async with person(site, site.webs[0]) as http:
        answer = await http.put("/policy/", json={"rules": given})
    assert answer.status_code == 200, answer.text


async def pending(site: FaultySite, member: Member, run_id: str) -> dict[str, Any]:
    """Return the plan of a run once it waits."""
    async with asyncio.timeout(PATIENCE_S), program(site, member) as http:
        while True:
            answer = await http.get(f"/runs/{run_id}/approval/")
            if answer.status_code == 200:
                return dict(answer.json())
            await asyncio.sleep(POLL_S)


async def test_a_waiting_plan_survives_kills_and_is_approved_elsewhere(
    site: FaultySite,
) -> None:
    await rules(site, HOLD)
    victim, other = site.webs
    order = {"model": "conductor-ultra", "prompt": f"{chain(2)} in escrow"}
    async with program(site, victim) as http:
        answer = await http.post("/runs/", json=order)
    run_id = answer.json()["id"]
    before = await pending(site, victim, run_id)
    for _ in range(MAX_DEATHS + 1):
        owner = await asyncio.to_thread(site.witness.owner, run_id)
        members = {m.place: m for m in (*site.webs, *site.workers)}
        holder = members[owner.rsplit("-", 1)[0]]
        await holder.kill()
        starting = asyncio.create_task(restarted(holder))
        await left_by(site, holder, [uuid.UUID(run_id)])
        await starting
    after = await pending(site, other, run_id)
    assert after == before  # the conductor was not asked again
    async with person(site, other) as http:
        body = {"plan_digest": after["plan_digest"]}
        first = await http.post(f"/runs/{run_id}/approval/approve/", json=body)
        second = await http.post(f"/runs/{run_id}/approval/approve/", json=body)
    assert (first.status_code, second.status_code) == (200, 409), first.text
    await site.settled(PATIENCE_S)
    row = await asyncio.to_thread(site.witness.row, run_id)
    assert row.state == "completed"
    await rules(site)
    await unharmed(site)
