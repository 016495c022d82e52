"""Fills a database of its own: `python -m tests.evaluation.prepare <url of models>`."""

from __future__ import annotations

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django.setup()

from tests.evaluation.programs import program_tasks  # noqa: E402
from tests.evaluation.samples import suite  # noqa: E402
from tests.factories import PoolFactory, PriceFactory, TeamFactory  # noqa: E402
from tests.scratch_database import database_prepare  # noqa: E402

WORKERS = ("delay-100", "delay-200")
"""Answer `ok` after so many milliseconds."""
TASKS = 24


def main() -> None:
    """Make a team with two workers and a suite."""
    database_prepare()
    team = TeamFactory.create(slug="orchestra")
    pool = PoolFactory.create(team=team, base_url=sys.argv[1], workers=WORKERS)
    for place in pool.places.all():
        PriceFactory.create(worker=place.worker)
    verifier = {"kind": "exact", "answer": "ok"}
    tasks = [
        {"id": str(n), "prompt": f"Is {n} ok?", "verifier": verifier}
        for n in range(TASKS)
    ]
    suite(team, tasks)
    rubric = {"kind": "model_graded", "rubric": "It must be ok."}
    suite(team, [{**task, "verifier": rubric} for task in tasks], name="rubrics")
    pool = PoolFactory.create(
        team=team,
        name="code",
        is_default=False,
        conductor=None,
        base_url=sys.argv[1],
        workers=("scripted",),
    )
    PriceFactory.create(worker=pool.fallback)
    suite(team, program_tasks(), name="programs")


if __name__ == "__main__":
    main()
