"""Pages of insights of a large team: how many queries, and how long.

The team is that of `bench.lists`, with 1,000,000 runs on both databases; one run in ten
has a fault, half name a family, one in a thousand calls one worker. Lists of runs that
the pages link to are measured as well. Days and most of the day in progress have been
summed, as a process of the site does each minute.
`--runs N` for another size (then nothing is kept), `--only PostgreSQL` for one database
(then the figures of the other one stay).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

from bench.databases import PRODUCTION, child_figures, database
from bench.figures import keep, kept, say
from bench.lists import KEYS, MEMBERS, RUNS, TIMES, ask_in_process
from bench.servers import folder

LINKED = "state=ended&source=callers&period=month"
ADDRESSES = {
    "queries": "/insights/",
    "queries, 90 days": "/insights/?days=90",
    "queries by tier": "/insights/?group=tier",
    "queries by worker": "/insights/?group=worker",
    "queries by member": "/insights/?group=member",
    "queries by member, 90 days": "/insights/?group=member&days=90",
    "queries by family": "/insights/?group=family",
    "queries by key, with tests": "/insights/?group=key&tests=on",
    "failures": "/insights/failures/",
    "failures, 90 days": "/insights/failures/?days=90",
    "plans": "/insights/plans/",
    "REST queries": "/api/v1/insights/queries/",
    "REST queries by member": "/api/v1/insights/queries/?group=member",
    "REST failures": "/api/v1/insights/failures/",
    "REST plans": "/api/v1/insights/plans/",
    "runs of a tier": f"/runs/?tier=direct&{LINKED}",
    "runs of a planner": f"/runs/?planner=language_model&{LINKED}",
    "runs of a family": f"/runs/?family=invoices&{LINKED}",
    "runs of a worker": f"/runs/?worker=worker-1&{LINKED}",
    "runs with a fault": f"/runs/?fault=step:rate_limited:a&{LINKED}",
    "runs of a plan": f"/runs/?shape=0123456789abcdef&{LINKED}",
}
FINDINGS = (
    '[{"stage": "step", "fault": "rate_limited", "worker": "a", "cost": 40, '
    '"rescue": "retry"}]'
)


def main() -> None:
    """Measure on each database, and keep the figures."""
    args = _arguments()
    figures: dict[str, Any] = (kept("insights") or {}).get("databases", {})
    runs = args.runs or RUNS[PRODUCTION]
    for name in [args.only] if args.only else RUNS:
        with folder() as path, database(name, path) as env:
            say(f"insights on {name}: seeding {runs:,} runs")
            env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
            figures[name] = child_figures(
                env, "bench.insights", "--seeded", "--runs", str(runs)
            )
    if not args.runs:
        keep("insights", {"databases": figures, "rounds": TIMES})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.insights")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--only", choices=list(RUNS))
    parser.add_argument("--seeded", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(runs: int) -> dict[str, Any]:
    """Seed the database, sum the days and ask every address."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    import time_machine
    from django.core.management import call_command

    from bench.seeding import seed_team, settle

    call_command("migrate", verbosity=0)
    night = datetime.now(UTC).replace(hour=23, minute=30, second=0, microsecond=0)
    time_machine.travel(night).start()
    owner = seed_team(runs=runs, members=MEMBERS, keys=KEYS)
    _note_facts()
    settle()
    start = time.perf_counter()
    call_command("insights_keep", stdout=sys.stderr)
    summed_s = time.perf_counter() - start
    say(f"  days summed in {summed_s:.0f} s")
    return {
        "runs": runs,
        "summed_s": summed_s,
        "addresses": ask_in_process(owner, ADDRESSES),
    }


def _note_facts() -> None:
    """Give every run that has ended the facts of its end."""
    from django.db import connection

    json_type = "::jsonb" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET tier = CASE WHEN cost_micros %% 1000 = 7 THEN 'direct'"
            " ELSE 'ultra' END, family = CASE cost_micros %% 4 WHEN 0 THEN 'invoices'"
            " WHEN 1 THEN 'letters' ELSE '' END, shape = '0123456789abcdef',"
            " first_token_ms = 300 + cost_micros, asked_tokens = 40,"
            " answer_tokens = 60, planner = 'language_model',"
            " latency_ms = 800 + 3 * cost_micros, findings = CASE"
            f" WHEN cost_micros %% 10 = 0 THEN %s{json_type} ELSE %s{json_type} END"
            " WHERE state <> 'running'",
            [FINDINGS, "[]"],
        )


if __name__ == "__main__":
    given = _arguments()
    if given.seeded:
        print(json.dumps(measure(given.runs)))
    else:
        main()
