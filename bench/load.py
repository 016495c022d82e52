"""The load harness: many people and programs at once on one site.

`python -m bench.load` puts 1,000 websockets with 1,000 frames/s in all, 20 live runs
streamed by the API and 300 reads/s of the REST API on a site, first on its one process
embedded (SQLite), then on two with PostgreSQL and Redis. `--only SQLite|PostgreSQL` for
one of them, `--seconds`, `--sockets`, `--reads`, `--web` for other sizes; then nothing
is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from bench.databases import EMBEDDED, PRODUCTION, database
from bench.figures import keep, medians, say
from bench.servers import (
    ROOT,
    base_url,
    family,
    folder,
    prepare,
    upstream,
    web,
)

SOCKETS, LIVE, READS_PER_S = 1_000, 20, 300
SECONDS = 20.0
ROUNDS = 3
OPEN_S = 40
"""Tokens that go by while the websockets are opened, one a second."""
JOB_S = 300.0
SEEDED = {"runs": 20_000, "members": 200, "keys": 100}
ADDRESSES = {
    "REST, one run": "/api/v1/runs/{run_id}/",
    "REST, 20 runs": "/api/v1/runs/?limit=20",
    "REST, 20 failed runs": "/api/v1/runs/?limit=20&state=failed",
    "REST, who am I": "/api/v1/me/",
}
"""What is read, each as often as the others."""
WEB = {EMBEDDED: 1, PRODUCTION: 2}
"""Processes that serve."""
CORES = sorted(os.sched_getaffinity(0))
"""Several of them are kept on a core each, as docs/operations.md has it."""
SEED = """
import django; django.setup()
from bench.seeding import seed_team, settle, sign_in
owner = seed_team(runs={runs}, members={members}, keys={keys}, running=0)
settle()
print(sign_in(owner))
"""


def main() -> None:
    """Measure on each database, and keep the figures."""
    args = _arguments()
    figures: dict[str, Any] = {}
    for name in [args.only] if args.only else [EMBEDDED, PRODUCTION]:
        figures[name] = _on(name, args)
    is_whole = args == _parser().parse_args([])
    if is_whole:
        keep("load", {"rounds": ROUNDS, "sizes": SEEDED, "web": WEB, **figures})
    print(json.dumps(figures, indent=1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.load")
    parser.add_argument("--only", choices=[EMBEDDED, PRODUCTION])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--sockets", type=int, default=SOCKETS)
    parser.add_argument("--live", type=int, default=LIVE)
    parser.add_argument("--reads", type=float, default=READS_PER_S)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--web", type=int, help="processes that serve")
    return parser


def _arguments() -> argparse.Namespace:
    return _parser().parse_args()


def _on(name: str, args: argparse.Namespace) -> dict[str, Any]:
    tokens = OPEN_S + int(args.seconds)
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        path = stack.enter_context(folder())
        env = stack.enter_context(database(name, path, with_redis=True))
        say(f"load on {name}: seeding")
        model = f"clock-{tokens}-1"
        key = f"Bearer {prepare(env, path, base_url(model_server), model)}"
        env["BACKGROUND_RUNS"] = "here"
        cookie = seeded(env)
        sites, pids = [], []
        for core in _cores(args.web or WEB[name]):
            site, child = stack.enter_context(web(env, path, core=core))
            sites.append(site)
            pids += family(child.pid)
        run_id = first_run(sites[0], key)
        job = {
            "sites": sites,
            "key": key,
            "cookie": cookie,
            "model": "worker/clock",
            "tokens": tokens,
            "sockets": args.sockets,
            "runs": args.live,
            "reads_per_s": args.reads,
            "seconds": args.seconds,
            "addresses": {
                each: address.format(run_id=run_id)
                for each, address in ADDRESSES.items()
            },
            "pids": {"web": pids, "models": model_server.pids},
        }
        rounds = [_round(job, number) for number in range(args.rounds)]
    return _medians(rounds)


def _cores(count: int) -> Sequence[int | None]:
    """Return where each process is kept; None: anywhere, as one alone is."""
    return CORES[:count] if 1 < count <= len(CORES) else [None] * count


def seeded(env: dict[str, str]) -> str:
    """Fill the team's lists and return the cookie of a person who may read them."""
    done = subprocess.run(
        [sys.executable, "-c", SEED.format(**SEEDED)],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "conductor_site.settings",
            **env,
        },
        check=True,
        stdout=subprocess.PIPE,
    )
    return done.stdout.decode().split()[-1]


def _round(job: dict[str, Any], number: int) -> dict[str, Any]:
    say(f"  round {number + 1}")
    done = subprocess.run(
        [sys.executable, "-m", "bench.crowd"],
        cwd=ROOT,
        input=json.dumps(job).encode(),
        stdout=subprocess.PIPE,
        timeout=JOB_S,
        check=True,
    )
    seen = json.loads(done.stdout)
    _tell(seen)
    if seen["reads"]["failed"]:
        raise RuntimeError(f"a read failed: {seen['reads']['failure']}")
    return seen


def _tell(seen: dict[str, Any]) -> None:
    reads, frames, streams = seen["reads"], seen["frames"], seen["streams"]
    say(
        f"  reads: {reads['per_s']:.0f}/s, median {reads['median_ms']:.1f} ms, "
        f"p99 {reads['p99_ms']:.1f}, failed {reads['failed']}"
    )
    for name, each in reads["by_address"].items():
        say(f"    {name}: {each['median_ms']:.1f} ms, p99 {each['p99_ms']:.1f}")
    say(
        f"  frames: {frames['per_s']:.0f}/s, median {frames['median_ms']:.1f} ms, "
        f"p99 {frames['p99_ms']:.1f}, lost: {frames['lost_text']} of text and "
        f"{frames['lost_entries']} entries, first with their entry "
        f"{frames['overtaken']}, doubled {frames['doubled']}, "
        f"{frames['ended_well']} of {frames['sockets']} ended well"
    )
    say(
        f"  streams: {streams['whole']} of {streams['streams']} whole, "
        f"p99 {streams['p99_ms']:.1f} ms"
    )
    shares = ", ".join(f"{k} {100 * v:.0f} %" for k, v in seen["cpu_share"].items())
    say(f"  processor: {shares}; memory: {seen['memory_mb']['web']:.0f} MB")


def _medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    parts = ("reads", "frames", "streams", "cpu_share", "memory_mb")
    figures = {part: medians([seen[part] for seen in rounds]) for part in parts}
    # Of what must not happen at all, not the median but every time.
    for what in ("lost_text", "lost_entries", "overtaken", "doubled"):
        figures["frames"][what] = sum(seen["frames"][what] for seen in rounds)
    figures["by_address"] = {
        name: medians([seen["reads"]["by_address"][name] for seen in rounds])
        for name in ADDRESSES
    }
    return figures


def first_run(site: str, key: str) -> str:
    """Make a run that has ended, to be looked at, and return its id."""
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "What is 17 * 23 + 4?"}],
    }
    request = urllib.request.Request(
        f"{site}/v1/chat/completions",
        json.dumps(body).encode(),
        {"authorization": key, "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        response.read()
        return str(response.headers["x-conductor-run-id"])


if __name__ == "__main__":
    main()
