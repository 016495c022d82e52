"""The load generator: its own process, so that it shares no interpreter lock.

Reads one job as JSON on standard input, prints one result as JSON. Connections are kept
alive; an answer other than 200 is counted as failed. `closed` keeps n requests in
flight, `steady` does too, or sends one at regular times, and says when each ended;
`burst` sends n at once and waits for all, `streams` opens n streams of `clock-…` tokens
over one second and measures how late each token arrives, and how long the server's
event loop takes to answer a question that needs no work.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httptools
import orjson
import uvloop

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STREAM_SPREAD_S = 1.0
"""Streams begin at random within this time, as they do in life."""
PROBE_S = 0.02
"""How often the event loop is asked whether it is free."""


class Client(asyncio.Protocol):
    """One connection with one request at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] | None = None
        self._body: list[bytes] = []
        self.on_piece: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(ConnectionError("closed without an answer"))

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        if self.on_piece:
            self.on_piece(body)
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._done and not self._done.done():
            self._done.set_result(None)

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Return status and body; the body is empty if pieces go elsewhere."""
        self._parser = httptools.HttpResponseParser(self)
        self._body = []
        self._done = self._loop.create_future()
        self.transport.write(request)
        await self._done
        return self._parser.get_status_code(), b"".join(self._body)


async def connect(url: str) -> Client:
    """Return a connection to the server of `url`."""
    host, _, port = urlsplit(url).netloc.partition(":")
    loop = asyncio.get_running_loop()
    _, client = await loop.create_connection(Client, host, int(port))
    return client


def encode_request(job: dict[str, Any]) -> bytes:
    """Return the bytes of the job's request."""
    parts = urlsplit(job["url"])
    headers = {
        "host": parts.netloc,
        "content-type": "application/json",
        **job.get("headers", {}),
    }
    body = orjson.dumps(job["body"])
    lines = [f"POST {parts.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
    lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def cpu_s(pids: list[int]) -> float:
    """Return the processor time the processes have used, threads included."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_S


class Sample:
    """What one round has seen."""

    def __init__(self) -> None:
        self.latencies_s: list[float] = []
        self.failed = 0
        self.example = ""

    async def timed(self, client: Client, request: bytes) -> None:
        start = time.perf_counter()
        status, body = await client.send(request)
        if status == 200:
            self.latencies_s.append(time.perf_counter() - start)
        else:
            self.failed += 1
            self.example = body[:300].decode("utf-8", "replace")

    def result(self, wall_s: float, used_cpu_s: float) -> dict[str, Any]:
        count = len(self.latencies_s)
        ordered = sorted(self.latencies_s) or [0.0]
        return {
            "requests": count,
            "failed": self.failed,
            "failure": self.example,
            "wall_s": wall_s,
            "per_s": count / wall_s,
            "cpu_ms_each": 1000 * used_cpu_s / count if count else 0.0,
            "cpu_share": used_cpu_s / wall_s,
            "median_ms": 1000 * statistics.median(ordered),
            "p99_ms": 1000 * ordered[int(len(ordered) * 0.99)],
            "max_ms": 1000 * ordered[-1],
        }


async def closed(job: dict[str, Any]) -> dict[str, Any]:
    """Keep `in_flight` requests going, for `seconds` or until `count` are done."""
    request = encode_request(job)
    clients = await _clients(job)
    count, seconds = job.get("count"), job.get("seconds", 600.0)
    await _warm_up(clients, request, job.get("warm_up", 1))
    sample = Sample()
    left = iter(range(count)) if count else None
    pids = job.get("pids", [])
    cpu, start = cpu_s(pids), time.perf_counter()

    async def go_on(client: Client) -> None:
        while time.perf_counter() - start < seconds:
            if left is not None and next(left, None) is None:
                return
            await sample.timed(client, request)

    await asyncio.gather(*(go_on(client) for client in clients))
    return sample.result(time.perf_counter() - start, cpu_s(pids) - cpu)


async def steady(job: dict[str, Any]) -> dict[str, Any]:
    """Keep `in_flight` requests going for `seconds`, `every_s` apart if that is given.

    The result also has the ends of all, in seconds from the beginning.
    """
    request = encode_request(job)
    clients = await _clients(job)
    await _warm_up(clients, request, job.get("warm_up", 1))
    sample, ends_s = Sample(), list[float]()
    seconds, every_s = job["seconds"], job.get("every_s", 0.0)
    pids = job.get("pids", [])
    cpu, start = cpu_s(pids), time.perf_counter()

    async def go_on(client: Client) -> None:
        due = start
        while time.perf_counter() - start < seconds:
            await sample.timed(client, request)
            ends_s.append(time.perf_counter() - start)
            due += every_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()) if every_s else 0)

    await asyncio.gather(*(go_on(client) for client in clients))
    seen = sample.result(time.perf_counter() - start, cpu_s(pids) - cpu)
    return {**seen, "ends_s": ends_s}


async def _clients(job: dict[str, Any]) -> list[Client]:
    """Connect to the servers of the job, to each in its turn."""
    urls = job.get("urls") or [job["url"]]
    return [await connect(urls[n % len(urls)]) for n in range(job["in_flight"])]


async def _warm_up(clients: list[Client], request: bytes, times: int) -> None:
    for _ in range(times):
        await asyncio.gather(*(client.send(request) for client in clients))


async def streams(job: dict[str, Any]) -> dict[str, Any]:
    """Open `in_flight` streams of `tokens` tokens each."""
    request = encode_request(job)
    randomly = random.Random(1)
    clients = [await connect(job["url"]) for _ in range(job["in_flight"])]
    pids = job.get("pids", [])
    lags_ms: list[float] = []
    probe = asyncio.create_task(_probe(job["url"], lags_ms))
    cpu, start = cpu_s(pids), time.perf_counter()
    seen = await asyncio.gather(
        *(
            _stream(client, request, randomly.random() * STREAM_SPREAD_S)
            for client in clients
        )
    )
    wall_s = time.perf_counter() - start
    probe.cancel()
    lags_ms.sort()
    firsts = sorted(one[0] for one in seen if one)
    late = sorted(delay for one in seen for delay in one)
    return {
        "streams": len(seen),
        "whole": sum(len(one) == job["tokens"] for one in seen),
        "tokens": len(late),
        "wall_s": wall_s,
        "cpu_share": (cpu_s(pids) - cpu) / wall_s,
        "first_median_ms": statistics.median(firsts) if firsts else 0.0,
        "first_p99_ms": firsts[int(len(firsts) * 0.99)] if firsts else 0.0,
        "delay_median_ms": statistics.median(late) if late else 0.0,
        "delay_p99_ms": late[int(len(late) * 0.99)] if late else 0.0,
        "delay_max_ms": late[-1] if late else 0.0,
        "lag_p99_ms": lags_ms[int(len(lags_ms) * 0.99)],
        "lag_max_ms": lags_ms[-1],
    }


async def _probe(url: str, lags_ms: list[float]) -> None:
    """Note how long the server takes to refuse a GET: its loop's lag, and a little."""
    parts = urlsplit(url)
    request = f"GET {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\n\r\n".encode()
    client = await connect(url)
    while True:
        start = time.perf_counter()
        await client.send(request)
        lags_ms.append(1000 * (time.perf_counter() - start))
        await asyncio.sleep(PROBE_S)


async def _stream(client: Client, request: bytes, after_s: float) -> list[float]:
    """Return the tokens' delays in ms; empty unless the stream ended as it should."""
    reader = ClockReader()
    client.on_piece = reader.feed
    await asyncio.sleep(after_s)
    try:
        status, _ = await client.send(request)
    except ConnectionError:
        return []
    return reader.delays_ms if status == 200 and reader.is_done else []


class ClockReader:
    """Reads a stream of `clock-…`: how late each token came."""

    def __init__(self) -> None:
        self.delays_ms: list[float] = []
        self.is_done = False
        self._rest = b""

    def feed(self, data: bytes) -> None:
        now = time.monotonic_ns()
        *events, self._rest = (self._rest + data).split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                self.is_done = True
            elif event.startswith(b"data: "):
                self._read(orjson.loads(event[6:]), now)

    def _read(self, chunk: dict[str, Any], now: int) -> None:
        for choice in chunk.get("choices") or ():
            for stamp in (choice["delta"].get("content") or "").split():
                self.delays_ms.append((now - int(stamp)) / 1e6)


MODES = {"closed": closed, "steady": steady, "streams": streams}

if __name__ == "__main__":
    job = orjson.loads(sys.stdin.buffer.read())
    sys.stdout.buffer.write(orjson.dumps(uvloop.run(MODES[job["mode"]](job))))
