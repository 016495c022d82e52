"""Several web processes on one PostgreSQL and one Redis: what each adds to a run.

Planned runs over 1, 2, 4 and 8 processes on the same cores, 32 in flight in each, and
32 in all. In each: what grows is what processes cost each other. In all: that, and that
the work of fewer runs is done at once. Processor time of the site and of the database a
run, and how many of the database's connections wait for a lock, by the kind of lock.
`--seconds N` for a trial, whose figures are not kept.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psutil
import psycopg

from bench.databases import PRODUCTION, database
from bench.figures import keep, say
from bench.servers import Server, base_url, folder, load, prepare, upstream, web

COUNTS = 1, 2, 4, 8
IN_FLIGHT = 32
SECONDS = 20.0
WARM_UP_S = 3.0
ROUNDS = 3
SAMPLE_INTERVAL_S = 0.02
WAITS = (
    "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity "
    "WHERE state = 'active' AND wait_event_type IN ('Lock', 'LWLock', 'IO', 'IPC')"
)


def main() -> None:
    """Measure each number of processes, and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.processes")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    seconds = parser.parse_args().seconds
    figures: dict[str, Any] = {"rounds": ROUNDS, "seconds": seconds}
    for count in COUNTS:
        figures[str(count)] = _measured(count, seconds)
    if seconds == SECONDS:
        keep("processes", figures)


def _measured(count: int, seconds: float) -> dict[str, dict[str, Any]]:
    """Return the round in the middle by processor time, of each load."""
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        path = stack.enter_context(folder())
        env = stack.enter_context(database(PRODUCTION, path, with_redis=True))
        key = prepare(env, path, base_url(model_server))
        sites = [stack.enter_context(web(env, path)) for _ in range(count)]
        urls = [f"{url}/v1/chat/completions" for url, _ in sites]
        server = Server(
            f"{count} processes",
            urls[0],
            [child.pid for _, child in sites],
            {"authorization": f"Bearer {key}"},
            {"planned": "conductor-ultra"},
        )

        def middle(in_flight: int) -> dict[str, Any]:
            _round(server, urls, in_flight, WARM_UP_S, env["DATABASE_URL"])
            rounds = [
                _round(server, urls, in_flight, seconds, env["DATABASE_URL"])
                for _ in range(ROUNDS)
            ]
            rounds.sort(key=lambda seen: seen["cpu_ms_each"])
            return rounds[len(rounds) // 2]

        return {"each": middle(count * IN_FLIGHT), "all": middle(IN_FLIGHT)}


def _round(
    server: Server, urls: list[str], in_flight: int, seconds: float, database_url: str
) -> dict[str, Any]:
    with _waits(database_url) as waits:
        begin_s = _cpu_s()
        seen = load(server, "planned", in_flight=in_flight, seconds=seconds, urls=urls)
        used_s = _cpu_s() - begin_s
    seen["database_cpu_ms_each"] = 1000 * used_s / seen["requests"]
    seen["waits"] = waits
    _tell(f"{len(urls)}, {in_flight} in flight", seen)
    return seen


def _cpu_s() -> float:
    """Return the processor time that PostgreSQL and Redis have used so far."""
    total = 0.0
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            if process.name().startswith(("postgres", "redis", "valkey")):
                times = process.cpu_times()
                total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


@contextmanager
def _waits(url: str) -> Iterator[dict[str, float]]:
    """Sample what connections wait for; give the mean number of them by its name."""
    counts: Counter[str] = Counter()
    means: dict[str, float] = {}
    is_over = threading.Event()
    samples = 0

    def sample() -> None:
        nonlocal samples
        with psycopg.connect(url, autocommit=True) as connection:
            while not is_over.wait(SAMPLE_INTERVAL_S):
                counts.update(name for (name,) in connection.execute(WAITS))
                samples += 1

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield means
    finally:
        is_over.set()
        thread.join()
        means |= {name: n / max(samples, 1) for name, n in counts.most_common(5)}


def _tell(what: str, seen: dict[str, Any]) -> None:
    waits = ", ".join(f"{name} {mean:.2f}" for name, mean in seen["waits"].items())
    say(
        f"  {what}: {seen['per_s']:.0f} runs/s, {seen['cpu_ms_each']:.2f} ms CPU, "
        f"{seen['database_cpu_ms_each']:.2f} ms of the database, "
        f"median {seen['median_ms']:.0f} ms; waiting: {waits}"
    )


if __name__ == "__main__":
    main()
