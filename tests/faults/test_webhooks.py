"""Nothing is lost between an answer of a receiver and the commit that remembers it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from tests.faults.members import POLL_S
from tests.faults.scenes import PATIENCE_S, chain, restarted, unharmed
from tests.faults.site import FaultySite
from tests.faults.test_waiting import person, program

pytestmark = pytest.mark.asyncio(loop_scope="module")
CLAIM_S = 60.0
"""A dead process holds a webhook no longer."""
STREAM, EVENTS = "/stream", "/events"


@dataclass
class Received:
    """A message as it came."""

    path: str
    id: str
    body: bytes

    @property
    def seqs(self) -> list[int]:
        return [json.loads(line)["seq"] for line in self.body.splitlines()]


@dataclass
class Receiver:
    """Answers 204; while it holds, only when it is released."""

    messages: list[Received] = field(default_factory=list)
    holds: bool = False
    held: dict[str, Received] = field(default_factory=dict)
    """The first message of each path since it holds."""
    released: dict[str, asyncio.Event] = field(
        default_factory=lambda: {STREAM: asyncio.Event(), EVENTS: asyncio.Event()}
    )
    url: str = ""

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Read one request and answer it."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.splitlines()
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            body = await reader.readexactly(int(headers["content-length"]))
            message = Received(first.split()[1], headers["webhook-id"], body)
            self.messages.append(message)
            if self.holds and message.path not in self.held:
                self.held[message.path] = message
                await self.released[message.path].wait()
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the sender has died
        finally:
            writer.close()

    def of(self, path: str) -> list[Received]:
        return [each for each in self.messages if each.path == path]

    async def until(self, is_so: Callable[[], bool], patience_s: float) -> None:
        async with asyncio.timeout(patience_s):
            while not is_so():  # noqa: ASYNC110
                await asyncio.sleep(POLL_S)


@pytest_asyncio.fixture(loop_scope="module")
async def receiver() -> AsyncIterator[Receiver]:
    one = Receiver()
    async with await asyncio.start_server(one.serve, "127.0.0.1", 0) as server:
        one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield one


async def ended_run(site: FaultySite) -> None:
    """Start a run, and return once it has ended."""
    async with program(site, site.webs[0]) as http:
        order = {"model": "conductor-ultra", "prompt": chain(1, 1)}
        answer = await http.post("/runs/", json=order)
    assert answer.status_code == 201, answer.text
    await site.settled(PATIENCE_S)


async def add(site: FaultySite, url: str, **values: object) -> None:
    async with person(site, site.webs[0]) as http:
        answer = await http.post("/webhooks/", json={"url": url, **values})
    assert answer.status_code == 201, answer.text


async def test_g1_deliveries_survive_kills_before_and_after_the_answer(
    site: FaultySite, receiver: Receiver
) -> None:
    await add(site, f"{receiver.url}{STREAM}", name="SIEM", kind="ledger")
    await add(
        site,
        f"{receiver.url}{EVENTS}",
        name="Chat",
        kind="events",
        event_types=["run.ended"],
    )
    await ended_run(site)
    await receiver.until(lambda: bool(receiver.of(EVENTS)), PATIENCE_S)
    receiver.holds = True
    await ended_run(site)
    await receiver.until(lambda: len(receiver.held) == 2, PATIENCE_S)
    members = (*site.webs, *site.workers)  # any of them may be the one that sends
    for member in members:
        member.database.stall()  # from now on no answer can be remembered
    receiver.released[STREAM].set()
    await asyncio.sleep(POLL_S * 10)  # for the answer to arrive
    for member in members:
        await member.kill()
    receiver.released[EVENTS].set()
    for member in members:
        member.database.heal()
        await restarted(member)

    def ids(path: str) -> set[str]:
        return {message.id for message in receiver.of(path)}

    def again(path: str) -> bool:
        return [m.id for m in receiver.of(path)].count(receiver.held[path].id) == 2

    patience_s = CLAIM_S + PATIENCE_S
    await receiver.until(lambda: again(STREAM) and again(EVENTS), patience_s)
    for _ in range(3):
        await ended_run(site)
    await receiver.until(
        lambda: len({m.id for m in receiver.of(EVENTS)}) == 5, PATIENCE_S
    )
    await unharmed(site)
    _in_order(receiver.of(STREAM))
    for path in (STREAM, EVENTS):
        times = Counter(message.id for message in receiver.of(path))
        assert times.pop(receiver.held[path].id) == 2
        assert set(times.values()) <= {1}, "two processes deliver at once"


def _in_order(messages: list[Received]) -> None:
    """Check that a stream has every entry once, in order, but for what came again."""
    seen: set[str] = set()
    seqs: list[int] = []
    for message in messages:
        if message.id not in seen:
            seqs += message.seqs
        seen.add(message.id)
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    bodies = {message.id: message.body for message in messages}
    assert all(bodies[message.id] == message.body for message in messages)
