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

from apps.accounts.models import Role  # noqa: E402
from apps.budgets.services import budget_create  # noqa: E402
from apps.pools.models import Price  # noqa: E402
from tests.factories import (  # noqa: E402
    ACTOR,
    MembershipFactory,
    PoolFactory,
    PriceFactory,
    TeamFactory,
    issue_key,
)
from tests.runs.asking import session_of  # noqa: E402

WORKERS = ("delay-100", "delay-200", "delay-400", "delay-800", "delay-5000")
"""Named for how many milliseconds each takes to answer."""


def main() -> None:
    """Make a team with a key, a pool whose conductor does as told, and a budget."""
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
    values = {"kind": "team", "period": "month", "limit_usd": "100000"}
    budget_create(team=team, values=values, actor=ACTOR)
    member = MembershipFactory.create(team=team, role=Role.OWNER)
    known = {"key": issue_key(team).secret, "session": session_of(member.user)}
    sys.stdout.write(json.dumps(known))


if __name__ == "__main__":
    main()
