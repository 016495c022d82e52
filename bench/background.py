"""Background runs in one worker process: how many a second, at what cost and memory.

Runs of three steps (planner 50 ms, two workers of 100 ms at once, an aggregator of
100 ms) are left to the workers through the database and the broker, then a worker
process with room for 10 or 1,000 starts. Measured is the middle of the work, from a
tenth to nine tenths of the runs. PostgreSQL and Redis. `--small` for a trial.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

from bench.crowd import memory_mb
from bench.databases import PRODUCTION, database
from bench.figures import alternate, keep, say
from bench.generator import cpu_s
from bench.servers import (
    ROOT,
    base_url,
    family,
    folder,
    free_port,
    prepare,
    process,
    upstream,
)

ROUNDS = 3
AT_ONCE = {"10": 200, "1000": 4_000}
"""Runs at once in the process, and how many, in fifties, are left to it in a round."""
SMALL = {"10": 100, "100": 300}
LOOK_S = 0.25
JOB_S = 120.0
FEED = """
import asyncio, uuid, django; django.setup()
from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.runs.execution.executor import close_executor, open_executor
from apps.runs.services import run_start_detached
from apps.runs.types import RunOrder

async def feed(team_id):
    await open_executor()
    actor = Actor("service", "bench", "bench")
    order = RunOrder(team_id, actor, "What is 17 * 23 + 4?", "conductor-ultra", "api",
                     is_watched=False)
    for _ in range({count} // 50):
        await asyncio.gather(*(run_start_detached(order) for _ in range(50)))
    from apps.runs.tasks import _waker
    await asyncio.to_thread(_waker().settle)
    await close_executor()

asyncio.run(feed(Team.objects.get(slug="bench").id))
"""


def main() -> None:
    """Measure, and keep the figures."""
    is_small = "--small" in sys.argv
    sizes = SMALL if is_small else AT_ONCE
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        path = stack.enter_context(folder())
        env = stack.enter_context(database(PRODUCTION, path, with_redis=True))
        prepare(env, path, base_url(model_server))
        env |= {
            "BACKGROUND_RUNS": "workers",
            "DJANGO_SETTINGS_MODULE": "conductor_site.settings",
        }
        say("background runs")
        seen = alternate(
            sizes,
            lambda at_once: _round(env, path, int(at_once), sizes[at_once]),
            1 if is_small else ROUNDS,
        )
    if not is_small:
        keep("background", {"rounds": ROUNDS, **seen})


def _round(
    env: dict[str, str], path: Path, at_once: int, count: int
) -> dict[str, float]:
    with psycopg.connect(env["DATABASE_URL"], autocommit=True) as connection:
        before = _finished(connection)
        _feed(env, count)
        port = free_port()
        room = {"MAX_LIVE_RUNS": str(at_once), "METRICS_PORT": str(port)}
        with process(
            [sys.executable, "-m", "conductor_site.worker"],
            probe=f"http://127.0.0.1:{port}/metrics",
            folder=path,
            env=env | room,
        ) as worker:
            seen = _watch(connection, before, count, family(worker.pid))
        _check(connection, before + count)
    say(
        f"    {seen['cpu_ms_each']:.1f} ms of processor a run, {seen['memory_mb']:.0f} "
        f"MB at most, {seen['live']:.0f} at once at most"
    )
    return seen


def _feed(env: dict[str, str], count: int) -> None:
    # Room for nothing: this process puts runs on record and executes none.
    subprocess.run(
        [sys.executable, "-c", FEED.format(count=count)],
        cwd=ROOT,
        env={**os.environ, **env, "MAX_LIVE_RUNS": "0"},
        check=True,
    )


def _watch(
    connection: psycopg.Connection[Any], before: int, count: int, pids: list[int]
) -> dict[str, float]:
    marks: list[tuple[int, float, float]] = []
    memory, live, deadline = 0.0, 0, time.monotonic() + JOB_S
    done = 0
    while done < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{count - done} of {count} runs have not ended")
        time.sleep(LOOK_S)
        done = _finished(connection) - before
        marks.append((done, time.perf_counter(), cpu_s(pids)))
        memory = max(memory, memory_mb(pids))
        live = max(live, _live(connection))
    first = next(mark for mark in marks if mark[0] >= count * 0.1)
    last = next(mark for mark in marks if mark[0] >= count * 0.9)
    runs, wall_s, used_s = (b - a for a, b in zip(first, last, strict=True))
    return {
        "per_s": runs / wall_s,
        "median_ms": 1000 * wall_s / runs,
        "cpu_ms_each": 1000 * used_s / runs,
        "cpu_share": used_s / wall_s,
        "memory_mb": memory,
        "live": live,
    }


def _finished(connection: psycopg.Connection[Any]) -> int:
    return _number(
        connection, "SELECT count(*) FROM runs_run WHERE finished_at IS NOT NULL"
    )


def _live(connection: psycopg.Connection[Any]) -> int:
    return _number(
        connection,
        "SELECT count(*) FROM runs_run WHERE finished_at IS NULL"
        " AND owner_id IS NOT NULL",
    )


def _check(connection: psycopg.Connection[Any], wanted: int) -> None:
    good = _number(
        connection, "SELECT count(*) FROM runs_run WHERE state = 'completed'"
    )
    if good != wanted:
        raise RuntimeError(f"{wanted - good} of {wanted} runs have no answer")


def _number(connection: psycopg.Connection[Any], query: Any) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    main()
