"""A minute of steady load, with the work that was put off meanwhile.

Direct calls and planned runs, 32 in flight and one at a time, on a fresh database and
beside 100,000 runs; LiteLLM and Portkey get the same direct calls. What the site puts
off is counted in: each measurement ends when the search index has caught up, and the
rate over all is of the whole time. `--seconds N` for a trial, whose figures are not
kept; `--only fresh` or `--only seeded` for one database.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import competitors
from bench.figures import keep, say
from bench.servers import (
    ROOT,
    Server,
    base_url,
    folder,
    load,
    prepare,
    upstream,
    web,
)

SECONDS = 60.0
FIRST_S, LAST_S = 5.0, 20.0
"""The beginning and the end of a minute, which are compared."""
RUNS = 100_000
ALONE_EVERY_S = 0.15
"""Between two direct calls that are sent one at a time."""
IN_FLIGHT = (32, 1)
DATABASES = {"fresh": 0, "seeded": RUNS}
LOOK_S = 0.25
CATCH_UP_S = 600.0
BEGIN_S = 5.0
"""How long a process leaves its regular tasks alone at first, and a little more."""
SEED = """
import django; django.setup()
from bench.seeding import seed_team, settle
seed_team(runs={runs}, members=100, keys=100, running=0)
settle()
"""
PLACE = """
SELECT head.seq, progress.through_seq, progress.from_seq FROM audit_chainhead AS head
LEFT JOIN runs_searchprogress AS progress ON progress.team_id = head.team_id
"""
PAGES = "PRAGMA page_count", "PRAGMA freelist_count", "PRAGMA page_size"


def main() -> None:
    """Measure, and keep the figures."""
    args = _parser().parse_args()
    figures: dict[str, Any] = {"missing": {}, "rounds": 1, "seconds": args.seconds}
    for name in [args.only] if args.only else DATABASES:
        figures[name] = _on(name, args.seconds, figures["missing"])
    if args == _parser().parse_args([]):
        keep("steady", figures)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.steady")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", choices=DATABASES)
    return parser


def _on(name: str, seconds: float, missing: dict[str, str]) -> dict[str, Any]:
    say(f"steady, {name} database")
    seen: dict[str, Any] = {}
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        site, path = stack.enter_context(_site(model_server, DATABASES[name]))
        servers = [site]
        if name == "fresh":  # to peers, which keep nothing, all databases are alike
            servers += _peers(stack, model_server, missing)
        time.sleep(BEGIN_S)
        for in_flight in IN_FLIGHT:
            for server in servers:
                for model in sorted(server.models, reverse=server is site):
                    key = f"{model} {in_flight}"
                    found = _minute(server, model, in_flight, seconds)
                    if server is site:
                        found |= _put_off(path, found)
                    seen.setdefault(key, {})[server.name] = found
                    _tell(key, server.name, found)
    return seen


@contextmanager
def _site(model_server: Server, runs: int) -> Iterator[tuple[Server, Path]]:
    """Start the site on SQLite, with so many runs of before; give its database too."""
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        database = path / "bench.sqlite3"
        env = {"DATABASE_URL": f"sqlite:///{database}"}
        key = prepare(env, path, base_url(model_server))
        if runs:
            settings = {"DJANGO_SETTINGS_MODULE": "conductor_site.settings"}
            subprocess.run(
                [sys.executable, "-c", SEED.format(runs=runs)],
                cwd=ROOT,
                env={**os.environ, **settings, **env},
                check=True,
            )
        url, child = stack.enter_context(web(env, path))
        models = {"direct": "worker/instant", "planned": "conductor-ultra"}
        headers = {"authorization": f"Bearer {key}"}
        url = f"{url}/v1/chat/completions"
        yield Server("Conductor", url, [child.pid], headers, models), database


def _peers(
    stack: ExitStack, model_server: Server, missing: dict[str, str]
) -> list[Server]:
    found = []
    for start in (competitors.litellm, competitors.portkey):
        try:
            server = stack.enter_context(start(model_server))
        except competitors.Unavailable as exc:
            missing[start.__name__] = str(exc)
            continue
        models = {"direct": server.models["instant"]}
        found.append(
            Server(server.name, server.url, server.pids, server.headers, models)
        )
    return found


def _minute(
    server: Server, model: str, in_flight: int, seconds: float
) -> dict[str, Any]:
    is_paced = model == "direct" and in_flight == 1
    job = {"every_s": ALONE_EVERY_S} if is_paced else {}
    seen = load(
        server, model, "steady", in_flight=in_flight, seconds=seconds, warm_up=2, **job
    )
    ends_s = seen.pop("ends_s")
    first = sum(end <= FIRST_S for end in ends_s) / FIRST_S
    begin = seconds - LAST_S
    last = sum(begin < end <= seconds for end in ends_s) / LAST_S
    return {**seen, "first_per_s": first, "last_per_s": last}


def _put_off(database: Path, seen: dict[str, Any]) -> dict[str, float]:
    """Wait until the search index has caught up; return what that changes."""
    start = time.perf_counter()
    while not _is_caught_up(database):
        if time.perf_counter() - start > CATCH_UP_S:
            raise RuntimeError("the search index does not catch up")
        time.sleep(LOOK_S)
    waited_s = time.perf_counter() - start
    return {
        "caught_up_s": waited_s,
        "per_s_in_all": seen["requests"] / (seen["wall_s"] + waited_s),
        "used_bytes": _used_bytes(database),
    }


def _is_caught_up(database: Path) -> bool:
    end, through, begin = _asked(database, PLACE)
    return through is not None and begin == 0 and through >= end


def _used_bytes(database: Path) -> float:
    pages, free, size = (_asked(database, pragma)[0] for pragma in PAGES)
    return float((pages - free) * size)


def _asked(database: Path, sql: str) -> Any:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)
    try:
        return connection.execute(sql).fetchone()
    finally:
        connection.close()


def _tell(key: str, name: str, found: dict[str, Any]) -> None:
    more = ""
    if "caught_up_s" in found:
        more = (
            f"; caught up after {found['caught_up_s']:.1f} s, "
            f"{found['per_s_in_all']:.0f}/s in all"
        )
    say(
        f"  {key}, {name}: {found['per_s']:.0f}/s, first {found['first_per_s']:.0f}, "
        f"last {found['last_per_s']:.0f}, p50 {found['median_ms']:.1f} ms, "
        f"p99 {found['p99_ms']:.1f} ms, {found['cpu_ms_each']:.2f} ms CPU each{more}"
    )


if __name__ == "__main__":
    main()
