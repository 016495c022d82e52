"""The crowd: watchers, readers and streams at once, in a process of its own.

Reads one job as JSON on standard input, prints one result as JSON. `runs` streams of
the API are opened, one token a second each; every run is watched by its part of
`sockets` websockets; meanwhile `reads_per_s` pages are asked for at their times,
whether the answers before have come or not, and the wait for a free connection counts.
Delays are those between a token's being sent by the model and its coming here.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import orjson
import uvloop

from bench.generator import Client, ClockReader, connect, cpu_s, encode_request
from bench.watcher import Watcher, watch

OPENING = 20
"""Websockets that are opened at the same time."""
CONNECTIONS = 100
"""Over which reads go, of each site."""
SETTLE_S = 3.0
"""Reads before the measuring begins."""
END_S = 60.0
"""Longest wait for the end of all runs after the measuring."""


class Stream(Client):
    """A stream of the API whose run's id is wanted while it goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.run_id: asyncio.Future[str] = self._loop.create_future()
        self.reader = ClockReader()
        self.on_piece = self.reader.feed

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-conductor-run-id" and not self.run_id.done():
            self.run_id.set_result(value.decode())

    def on_headers_complete(self) -> None:
        if not self.run_id.done():
            status = self._parser.get_status_code()
            self.run_id.set_exception(RuntimeError(f"a stream was answered {status}"))


class Reads:
    """Requests at fixed times, and how long each took from when it was due."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._free: list[tuple[str, asyncio.Queue[Client]]] = []
        self.seen_s: dict[str, list[float]] = {name: [] for name in job["addresses"]}
        self.failures: list[str] = []
        self.is_measuring = False

    async def open(self) -> None:
        for site in self._job["sites"]:
            queue: asyncio.Queue[Client] = asyncio.LifoQueue()
            for _ in range(CONNECTIONS):
                queue.put_nowait(await connect(site))
            self._free.append((site, queue))

    async def go_on(self) -> None:
        """Ask until cancelled."""
        start, asked = time.perf_counter(), set[asyncio.Task[None]]()
        names = list(self.seen_s)
        random.Random(1).shuffle(names)
        try:
            for number, name in enumerate(itertools.cycle(names)):
                due = start + number / self._job["reads_per_s"]
                await asyncio.sleep(due - time.perf_counter())
                # Every address at every site in turn, as a balancer sends them.
                site = self._free[(number + number // len(names)) % len(self._free)]
                one = self._one(*site, name, due, is_counted=self.is_measuring)
                task = asyncio.create_task(one)
                asked.add(task)
                task.add_done_callback(asked.discard)
        finally:
            await asyncio.gather(*asked)

    async def _one(
        self,
        site: str,
        free: asyncio.Queue[Client],
        name: str,
        due: float,
        *,
        is_counted: bool,
    ) -> None:
        client = await free.get()
        try:
            status, body = await self._send(client, name)
        except ConnectionError:  # idle for too long: as browsers do, once more
            client = await connect(site)
            status, body = await self._send(client, name)
        finally:
            free.put_nowait(client)
        if status != 200:
            self.failures.append(f"{name}: {status} {body[:200]!r}")
        elif is_counted:
            self.seen_s[name].append(time.perf_counter() - due)

    async def _send(self, client: Client, name: str) -> tuple[int, bytes]:
        if client.transport.is_closing():
            raise ConnectionError("closed meanwhile")
        return await client.send(self._request(name))

    def _request(self, name: str) -> bytes:
        address = self._job["addresses"][name]
        host = urlsplit(self._job["sites"][0]).netloc
        is_rest = address.startswith("/api/")
        who = ("authorization", "key") if is_rest else ("cookie", "cookie")
        return (
            f"GET {address} HTTP/1.1\r\nhost: {host}\r\n{who[0]}: {self._job[who[1]]}"
            "\r\naccept-encoding: identity\r\n\r\n"
        ).encode()


async def crowd(job: dict[str, Any]) -> dict[str, Any]:
    """Do the job and return what was seen."""
    streams, ends = await _open_streams(job)
    start = time.perf_counter()
    watchers = await _open_watchers(job, [await each.run_id for each in streams])
    opened_s = time.perf_counter() - start
    say(f"  {len(watchers)} websockets opened in {opened_s:.1f} s")
    reads = Reads(job)
    await reads.open()
    reading = asyncio.create_task(reads.go_on())
    await asyncio.sleep(SETTLE_S)
    cpu, begin, begin_ns = _cpu(job), time.perf_counter(), time.monotonic_ns()
    reads.is_measuring = True
    await asyncio.sleep(job["seconds"])
    wall_s = time.perf_counter() - begin
    end_ns, used = time.monotonic_ns(), _cpu(job)
    memory_mb = _memory_mb(job)
    if any(end.done() for end in ends):
        raise RuntimeError("a stream ended before the measuring did; ask for more")
    reading.cancel()
    await asyncio.wait([reading])
    say("  measured; the runs come to their ends")
    async with asyncio.timeout(END_S):
        await asyncio.gather(*ends, *(each.ended for each in watchers))
    return {
        "opened_s": opened_s,
        "wall_s": wall_s,
        "cpu_share": {name: (used[name] - cpu[name]) / wall_s for name in cpu},
        "memory_mb": memory_mb,
        "reads": _read_figures(reads, wall_s),
        "frames": _frame_figures(watchers, begin_ns, end_ns, wall_s),
        "streams": _stream_figures(streams, job["tokens"]),
    }


async def _open_streams(
    job: dict[str, Any],
) -> tuple[list[Stream], list[asyncio.Task[tuple[int, bytes]]]]:
    loop, streams, ends = asyncio.get_running_loop(), [], []
    for number in range(job["runs"]):
        site = job["sites"][number % len(job["sites"])]
        host, _, port = urlsplit(site).netloc.partition(":")
        _, stream = await loop.create_connection(Stream, host, int(port))
        request = encode_request(
            {
                "url": f"{site}/v1/chat/completions",
                "headers": {"authorization": job["key"]},
                "body": {
                    "model": job["model"],
                    "messages": [{"role": "user", "content": "What time is it?"}],
                    "stream": True,
                },
            }
        )
        streams.append(stream)
        ends.append(asyncio.create_task(stream.send(request)))
        await asyncio.sleep(1 / job["runs"])  # so that not all tokens come at once
    return streams, ends


async def _open_watchers(job: dict[str, Any], run_ids: list[str]) -> list[Watcher]:
    opening = asyncio.Semaphore(OPENING)

    async def open_one(number: int) -> Watcher:
        site = job["sites"][number % len(job["sites"])]
        async with opening:
            return await watch(site, run_ids[number % len(run_ids)], job["cookie"])

    return await asyncio.gather(*map(open_one, range(job["sockets"])))


def _cpu(job: dict[str, Any]) -> dict[str, float]:
    return {name: cpu_s(pids) for name, pids in job["pids"].items()} | {
        "the crowd itself": time.process_time()
    }


def _memory_mb(job: dict[str, Any]) -> dict[str, float]:
    return {name: memory_mb(pids) for name, pids in job["pids"].items()}


def memory_mb(pids: list[int]) -> float:
    """Return the memory of processes; what they share counts once."""
    total_kb = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total_kb += sum(
                int(line.split()[1]) for line in file if line.startswith("Pss:")
            )
    return total_kb / 1024


# --- figures -------------------------------------------------------------------------


def spread(values: list[float]) -> dict[str, float]:
    """Return how many there are, their median, p99 and maximum."""
    ordered = sorted(values) or [0.0]
    return {
        "count": len(values),
        "median_ms": statistics.median(ordered),
        "p99_ms": ordered[int(len(ordered) * 0.99)],
        "max_ms": ordered[-1],
    }


def _read_figures(reads: Reads, wall_s: float) -> dict[str, Any]:
    seen = {
        name: [1000 * each for each in times] for name, times in reads.seen_s.items()
    }
    every = [each for times in seen.values() for each in times]
    return {
        **spread(every),
        "per_s": len(every) / wall_s,
        "failed": len(reads.failures),
        "failure": reads.failures[0] if reads.failures else "",
        "by_address": {name: spread(times) for name, times in seen.items()},
    }


def _frame_figures(
    watchers: list[Watcher], begin_ns: int, end_ns: int, wall_s: float
) -> dict[str, Any]:
    seen = [
        (now - sent) / 1e6
        for watcher in watchers
        for sent, now in watcher.tokens
        if begin_ns <= sent < end_ns
    ]
    frames = sum(
        begin_ns <= at < end_ns for watcher in watchers for at in watcher.frames
    )
    known: dict[str, set[int]] = {}
    for watcher in watchers:
        known.setdefault(watcher.run_id, set()).update(watcher.seqs)
    return {
        **spread(seen),
        "per_s": frames / wall_s,
        "sockets": len(watchers),
        "lost_text": sum(watcher.lost_tokens for watcher in watchers),
        "lost_entries": sum(
            len(known[watcher.run_id] - set(watcher.seqs)) for watcher in watchers
        ),
        "overtaken": sum(watcher.overtaken_tokens for watcher in watchers),
        "doubled": sum(
            watcher.doubled_pieces + len(watcher.seqs) - len(set(watcher.seqs))
            for watcher in watchers
        ),
        "ended_well": sum(watcher.has_ended_well for watcher in watchers),
    }


def _stream_figures(streams: list[Stream], tokens: int) -> dict[str, Any]:
    delays = [delay for each in streams for delay in each.reader.delays_ms]
    whole = [
        each
        for each in streams
        if each.reader.is_done and len(each.reader.delays_ms) == tokens
    ]
    return {**spread(delays), "streams": len(streams), "whole": len(whole)}


def say(line: str) -> None:
    """Tell the person at the terminal."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    given = orjson.loads(sys.stdin.buffer.read())
    sys.stdout.buffer.write(orjson.dumps(uvloop.run(crowd(given))))
