"""Pages and REST lists of a large team: how many queries, and how long.

1,000 members and 500 keys; 100,000 runs on SQLite, 1,000,000 on PostgreSQL (both
fresh). Each address is asked in process by an owner who operates the site as well:
what is measured is the view with its queries and its template, without a server in
between. It is made half past eleven at night, so that the day in progress is long, and
usage has been added up as processes of a site do each minute. `--runs N` for another
size, `--only PostgreSQL` for one database (then nothing is kept).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bench.databases import EMBEDDED, PRODUCTION, child_figures, database
from bench.figures import keep, say
from bench.servers import folder

RUNS = {EMBEDDED: 100_000, PRODUCTION: 1_000_000}
MEMBERS, KEYS = 1_000, 500
TIMES = 15
ADDRESSES = {
    "runs page": "/runs/",
    "runs page, filtered": "/runs/?state=failed&who=key&period=week",
    "runs page, running": "/runs/?state=running",
    "runs page, of the last hour": "/runs/?period=hour",
    "runs page, searched": "/runs/?q=nowhere+to+be+found",
    "runs page, by a name": "/runs/?who=person+7",
    "runs page, the 400th": "/runs/?page=400",
    "runs page, the 4000th": "/runs/?page=4000",
    "runs page, the last": "/runs/?page=1000000",
    "members page": "/members/",
    "keys page": "/keys/",
    "workers page": "/workers/",
    "pools page": "/pools/",
    "conductors page": "/conductors/",
    "credentials page": "/credentials/",
    "budgets page": "/budgets/",
    "retention page": "/retention/",
    "usage page": "/usage/",
    "usage page, 90 days": "/usage/?days=90",
    "REST runs": "/api/v1/runs/",
    "REST runs, failed ones": "/api/v1/runs/?state=failed",
    "REST runs, of a model": "/api/v1/runs/?model=conductor-ultra",
    "REST runs, of none": "/api/v1/runs/?model=nobody",
    "REST runs, searched": "/api/v1/runs/?query=nowhere+to+be+found",
    "REST usage": "/api/v1/usage/?group=key",
    "REST usage, by member": "/api/v1/usage/?group=member",
    "REST members": "/api/v1/members/",
    "REST keys": "/api/v1/keys/",
    "REST workers": "/api/v1/workers/",
    "REST budgets": "/api/v1/budgets/",
    "REST invitations": "/api/v1/invitations/",
    "operator's runs": "/admin/runs/run/",
    "operator's ledgers": "/admin/ledger/",
    "operations": "/admin/operations/",
}


def main() -> None:
    """Measure on each database, and keep the figures."""
    args = _arguments()
    figures: dict[str, Any] = {}
    for name in [args.only] if args.only else RUNS:
        runs = args.runs or RUNS[name]
        with folder() as path, database(name, path) as env:
            say(f"lists on {name}: seeding {runs:,} runs")
            env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
            figures[name] = {
                "runs": runs,
                "addresses": child_figures(
                    env, "bench.lists", "--seeded", "--runs", str(runs)
                ),
            }
    if not (args.only or args.runs):
        keep("lists", {"databases": figures, "rounds": TIMES})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.lists")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--only", choices=list(RUNS))
    parser.add_argument("--seeded", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- in the child --------------------------------------------------------------------


def measure(runs: int) -> dict[str, Any]:
    """Seed the database and ask every address."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    import time_machine
    from django.core.management import call_command

    from bench.seeding import seed_team, settle

    call_command("migrate", verbosity=0)
    start = time.perf_counter()
    night = datetime.now(UTC).replace(hour=23, minute=30, second=0, microsecond=0)
    traveller = time_machine.travel(night)
    traveller.start()
    owner = seed_team(runs=runs, members=MEMBERS, keys=KEYS)
    owner.is_staff = owner.is_superuser = True
    owner.save()
    settle()
    say(f"  seeded in {time.perf_counter() - start:.0f} s")
    start = time.perf_counter()
    call_command("usage_keep", stdout=sys.stderr)
    say(f"  usage added up in {time.perf_counter() - start:.0f} s")
    return ask_in_process(owner, ADDRESSES)


def ask_in_process(owner: Any, addresses: Mapping[str, str]) -> dict[str, Any]:
    """Ask every address as its owner; return queries and times of each."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost"})
    client.force_login(owner)
    seen = {}
    for name, address in addresses.items():
        first = _timed(
            client, address
        )  # what it keeps for later is no part of the rest
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        count = len(queries)  # later requests empty the log
        times = [_timed(client, address) for _ in range(TIMES)]
        seen[name] = {
            "queries": count,
            "first_ms": 1000 * first,
            "median_ms": 1000 * statistics.median(times),
            "max_ms": 1000 * max(times),
        }
        median, slowest = seen[name]["median_ms"], seen[name]["max_ms"]
        say(
            f"  {name}: {count} queries, {median:.1f} ms, slowest {slowest:.1f}, "
            f"the first time {1000 * first:.1f}"
        )
    return seen


def _timed(client: Any, address: str) -> float:
    start = time.perf_counter()
    response = client.get(address)
    took_s = time.perf_counter() - start
    if response.status_code != 200:
        raise RuntimeError(f"{address}: {response.status_code}")
    return took_s


if __name__ == "__main__":
    given = _arguments()
    if given.seeded:
        print(json.dumps(measure(given.runs)))
    else:
        main()
