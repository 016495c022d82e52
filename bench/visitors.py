"""The load of a soak: programs, readers and watchers, at a moderate pace.

Reads one job as JSON on standard input; prints a line of JSON with the counts so far
every second.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import orjson
import uvloop

from bench.crowd import Stream
from bench.generator import connect, encode_request
from bench.watcher import watch

PACE = {"plan": 0.25, "instant": 0.1, "stream": 1.0, "read": 0.2, "socket": 1.0}
"""Seconds from one to the next, for each kind."""
BODIES = {
    "plan": {"model": "conductor-ultra"},
    "instant": {"model": "worker/instant"},
    "stream": {"model": "worker/clock", "stream": True},
}
PATIENCE_S = 60.0


class Visitors:
    """Everybody who comes, and what became of it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._site = job["site"]
        self._end = time.monotonic() + job["seconds"]
        self._addresses = itertools.cycle(job["addresses"])
        self.counts = {"runs": 0, "reads": 0, "sockets": 0, "failed": 0}
        self.failure = ""

    async def come(self) -> None:
        """Come and go until the end."""
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "plan": lambda: self._run("plan"),
            "instant": lambda: self._run("instant"),
            "stream": self._stream,
            "read": self._read,
            "socket": self._socket,
        }
        telling = asyncio.create_task(self._tell())
        await asyncio.gather(*(self._keep(PACE[k], one) for k, one in kinds.items()))
        telling.cancel()
        self.say()

    async def _keep(self, every_s: float, one: Callable[[], Awaitable[None]]) -> None:
        under_way = set[asyncio.Task[None]]()
        while time.monotonic() < self._end:
            task = asyncio.create_task(self._one(one))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            await asyncio.sleep(every_s)
        await asyncio.gather(*under_way)

    async def _one(self, one: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await one()
        except (OSError, RuntimeError, TimeoutError) as exc:
            self._fail(repr(exc))

    def _fail(self, why: str) -> None:
        self.counts["failed"] += 1
        self.failure = self.failure or why

    def _request(self, kind: str) -> bytes:
        body = {
            **BODIES[kind],
            "messages": [{"role": "user", "content": "What is 17 * 23 + 4?"}],
        }
        return encode_request(
            {
                "url": f"{self._site}/v1/chat/completions",
                "headers": {"authorization": self._job["key"]},
                "body": body,
            }
        )

    async def _send(self, request: bytes, counted: str) -> None:
        client = await connect(self._site)
        status, body = await client.send(request)
        client.transport.close()
        self._count(counted, status, body)

    def _count(self, what: str, status: int, body: bytes) -> None:
        self.counts[what] += 1
        if status != 200:
            self._fail(f"{status} {body[:200]!r}")

    async def _run(self, kind: str) -> None:
        await self._send(self._request(kind), "runs")

    async def _read(self) -> None:
        address = next(self._addresses)
        is_rest = address.startswith("/api/")
        name, who = ("authorization", "key") if is_rest else ("cookie", "cookie")
        head = f"GET {address} HTTP/1.1\r\nhost: {urlsplit(self._site).netloc}\r\n"
        request = f"{head}{name}: {self._job[who]}\r\n\r\n".encode()
        await self._send(request, "reads")

    async def _open_stream(self) -> tuple[Stream, asyncio.Task[tuple[int, bytes]]]:
        host, _, port = urlsplit(self._site).netloc.partition(":")
        loop = asyncio.get_running_loop()
        _, stream = await loop.create_connection(Stream, host, int(port))
        return stream, asyncio.create_task(stream.send(self._request("stream")))

    async def _stream(self) -> None:
        stream, ending = await self._open_stream()
        status, body = await ending
        stream.transport.close()
        self._count("runs", status, body)

    async def _socket(self) -> None:
        """Watch a stream's run; every other watcher leaves before its end."""
        stream, ending = await self._open_stream()
        watcher = await watch(self._site, await stream.run_id, self._job["cookie"])
        self.counts["sockets"] += 1
        if self.counts["sockets"] % 2:
            watcher.leave()
            await ending
        else:
            await ending
            await watcher.ended
            if not watcher.has_ended_well:
                self._fail("a websocket did not end well")
        stream.transport.close()
        self.counts["runs"] += 1

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.say()

    def say(self) -> None:
        """Print the counts so far."""
        line = orjson.dumps({**self.counts, "failure": self.failure})
        with suppress(BrokenPipeError):
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    given = orjson.loads(sys.stdin.buffer.read())
    uvloop.run(Visitors(given).come())
