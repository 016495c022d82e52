"""Fills the harness's database: `python -m tests.faults.prepare <url of the models>`.

Prints what the clients need to know as one JSON object.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from apps.accounts.models import Role, Team  # noqa: E402
from apps.budgets.services import budget_create  # noqa: E402
from apps.pools.models import Price  # noqa: E402
from apps.simulator.benchmark.suite import suite_rows  # noqa: E402
from tests.evaluation.programs import program_tasks  # noqa: E402
from tests.evaluation.samples import pool_of_file, suite  # noqa: E402
from tests.factories import (  # noqa: E402
    ACTOR,
    MembershipFactory,
    PoolFactory,
    PriceFactory,
    TeamFactory,
    issue_key,
)
from tests.runs.asking import session_of  # noqa: E402

BENCHMARK_TASKS, BENCHMARK_SEED = 48, 7
WORKERS = ("delay-100", "delay-200", "delay-400", "delay-800", "delay-5000")
"""Named for how many milliseconds each takes to answer."""


def main() -> None:
    """Make a team with a key, pools (one plans as told), suites and a budget."""
    call_command("migrate", verbosity=0)
    team = TeamFactory.create()
    pool = PoolFactory.create(team=team, base_url=sys.argv[1], workers=WORKERS)
    for place in pool.places.all():
        PriceFactory.create(worker=place.worker)
    conductor = pool.conductor
    assert conductor is not None
    conductor.model = "scripted-conductor"
    conductor.save()
    Price.objects.create(
        team=team,
        conductor=conductor,
        valid_from="2025-01-01",
        input_micros=1_000_000,
        output_micros=2_000_000,
    )
    prepare_evaluations(team, sys.argv[1])
    values = {"kind": "team", "period": "month", "limit_usd": "100000"}
    budget_create(team=team, values=values, actor=ACTOR)
    member = MembershipFactory.create(team=team, role=Role.OWNER)
    known = {"key": issue_key(team).secret, "session": session_of(member.user)}
    sys.stdout.write(json.dumps(known))


def prepare_evaluations(team: Team, models_url: str) -> None:
    """Add the pool and suite of the benchmark, and code tasks with their worker."""
    pool_of_file(team, models_url, "benchmark.yaml")
    rows = list(suite_rows(BENCHMARK_TASKS, BENCHMARK_SEED))
    suite(team, rows, name="benchmark")
    scripted = PoolFactory.create(
        team=team,
        name="code",
        is_default=False,
        conductor=None,
        base_url=models_url,
        workers=("scripted",),
    )
    PriceFactory.create(worker=scripted.fallback)
    suite(team, program_tasks(), name="programs")


if __name__ == "__main__":
    main()
