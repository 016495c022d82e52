"""A soak: `python -m bench.soak --minutes 60`: what grows while a site is at work?

One web process on PostgreSQL and Redis gets runs of three steps, answers of single
workers, streams, reads and websockets that come and go, at a moderate pace. Memory is
noted all the time; its growth is that of the last quarter over the second one (the
first warms up), and by the line through all but the first quarter for each 1,000 runs.
Open files are counted when nobody is there: after some visitors to warm up, and after
all others. At the end the ledger is verified. `--only SQLite` for the embedded mode.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psutil

from bench.crowd import memory_mb
from bench.databases import EMBEDDED, PRODUCTION, database
from bench.figures import keep, say
from bench.load import ADDRESSES, first_run, seeded
from bench.servers import (
    ROOT,
    base_url,
    family,
    folder,
    manage,
    prepare,
    upstream,
    web,
)

LOOK_S = 2.0
WARM_UP_S = 60.0
REST_S = 45.0
"""Longer than any connection is kept that nobody uses, but for those of pools."""
STREAM_MODEL = "clock-50-25"
HOLDS = re.compile(r"chains? holds?,")
PAGES = ("/runs/", "/runs/{run_id}/")


@dataclass
class Course:
    """What was noted of one process, and when."""

    at_s: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)


def main() -> None:
    """Put the site to work for so long, and say what has grown."""
    args = _arguments()
    seconds = 60 * args.minutes
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        path = stack.enter_context(folder())
        env = stack.enter_context(database(args.only, path, with_redis=True))
        say(f"soak on {args.only}, {args.minutes:g} minutes")
        key = prepare(env, path, base_url(model_server), STREAM_MODEL)
        env["BACKGROUND_RUNS"] = "here"
        cookie = seeded(env)
        with web(env, path) as (site, child):
            job = {
                "site": site,
                "key": f"Bearer {key}",
                "cookie": cookie,
                "seconds": seconds,
                "addresses": _addresses(site, f"Bearer {key}"),
            }
            pids, pools = family(child.pid), _ports(env)
            _watch({**job, "seconds": WARM_UP_S}, pids)
            files = [_files_at_rest(pids, pools)]
            course, done = _watch(job, pids)
            files.append(_files_at_rest(pids, pools))
        verdict = manage(env, "audit_verify")
    figures = _figures(args, course, done, files, verdict)
    _tell(figures)
    keep("soak" if args.only == PRODUCTION else "soak-embedded", figures)
    if not (figures["verifies"] and done["failed"] == 0):
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak")
    parser.add_argument("--minutes", type=float, default=60.0)
    choices = [EMBEDDED, PRODUCTION]
    parser.add_argument("--only", choices=choices, default=PRODUCTION)
    return parser.parse_args()


def _addresses(site: str, key: str) -> list[str]:
    run_id = first_run(site, key)
    addresses = (*ADDRESSES.values(), *PAGES)
    return [address.format(run_id=run_id) for address in addresses]


def _watch(job: dict[str, Any], pids: list[int]) -> tuple[Course, dict[str, Any]]:
    """Run the crowd and note what the site takes, until the crowd has ended."""
    course, start = Course(), time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.visitors"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(json.dumps(job).encode())
    child.stdin.close()
    seen: dict[str, Any] = {"runs": 0}

    def read() -> None:
        for line in child.stdout or ():
            seen.update(json.loads(line))

    reader = threading.Thread(target=read)
    reader.start()
    while child.poll() is None:
        course.at_s.append(time.monotonic() - start)
        course.memory_mb.append(memory_mb(pids))
        course.runs.append(seen["runs"])
        time.sleep(LOOK_S)
    reader.join()
    if child.returncode:
        raise RuntimeError(f"the visitors ended with status {child.returncode}")
    return course, seen


def _ports(env: dict[str, str]) -> set[int | None]:
    """Return where the database and Redis listen."""
    return {urlsplit(env.get(name, "")).port for name in ("DATABASE_URL", "REDIS_URL")}


def _files_at_rest(pids: list[int], pools: set[int | None]) -> int:
    """Wait until nobody is there, and count all but the connections of pools.

    Pools have as many as were ever wanted at once, up to their size.
    """
    time.sleep(REST_S)
    return sum(_open_files(psutil.Process(pid), pools) for pid in pids)


def _open_files(process: psutil.Process, pools: set[int | None]) -> int:
    peers = [each.raddr for each in process.net_connections("inet")]
    pooled = sum(bool(peer) and peer.port in pools for peer in peers)
    return int(process.num_fds()) - pooled


def _figures(
    args: argparse.Namespace,
    course: Course,
    done: dict[str, Any],
    files: list[int],
    verdict: str,
) -> dict[str, Any]:
    quarter = len(course.at_s) // 4
    if not quarter:
        raise RuntimeError("too short to say anything")
    second, last = slice(quarter, 2 * quarter), slice(-quarter, None)
    before, after = (
        statistics.median(course.memory_mb[part]) for part in (second, last)
    )
    rest = slice(quarter, None)
    slope = statistics.linear_regression(course.runs[rest], course.memory_mb[rest])
    return {
        "rounds": 1,
        "database": args.only,
        "minutes": args.minutes,
        **done,
        "memory_mb": after,
        "memory_growth": after / before - 1,
        "kb_per_1000_runs": 1000 * 1024 * slope.slope,
        "files_at_rest": files,
        "verifies": HOLDS.search(verdict) is not None,
        "verdict": verdict.splitlines()[-1] if verdict else "",
    }


def _tell(figures: dict[str, Any]) -> None:
    say(
        f"  {figures['runs']} runs, {figures['reads']} reads, {figures['sockets']} "
        f"websockets, {figures['failed']} failed {figures['failure']}"
    )
    say(
        f"  memory {figures['memory_mb']:.0f} MB, grown by "
        f"{100 * figures['memory_growth']:.1f} %, "
        f"{figures['kb_per_1000_runs']:.0f} KB for each 1,000 runs"
    )
    say("  open files at rest {}, then {}".format(*figures["files_at_rest"]))
    say(f"  ledger: {figures['verdict']}")


if __name__ == "__main__":
    main()
