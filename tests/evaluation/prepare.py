"""Fills a database of its own: `python -m tests.evaluation.prepare <url of models>`."""

from __future__ import annotations

import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from tests.evaluation.samples import suite  # noqa: E402
from tests.factories import PoolFactory, PriceFactory, TeamFactory  # noqa: E402

WORKERS = ("delay-100", "delay-200")
"""Answer `ok` after so many milliseconds."""
TASKS = 24
LEFT = "conductor-killed"
"""Begins the names of the files that the code of answers writes."""
PROGRAMS = (True, False, False, True, True, False, True, False)
"""Of each task of the suite of programs: whether its answer is right."""
SLOWEST = 4
"""Number of the program that takes 8 s; the others take a moment."""


def main() -> None:
    """Make a team with two workers and a suite."""
    call_command("migrate", verbosity=0)
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
    programs = [program_task(n, is_right) for n, is_right in enumerate(PROGRAMS)]
    suite(team, programs, name="programs")


def program_task(number: int, is_right: bool) -> dict[str, Any]:
    """Return a task whose answer is code that takes a while and writes files."""
    code = (
        "import time\n"
        'for folder in (".", "/tmp", "/dev/shm"):\n'
        f'    open(f"{{folder}}/{LEFT}", "w").close()\n'
        f"time.sleep({8 if number == SLOWEST else 0.2})\n"
        f"print({7 if is_right else 8})\n"
    )
    return {
        "id": str(number),
        "prompt": f"[[say ```python\n{code}```]]",
        "verifier": {
            "kind": "unit_tests",
            "cases": [{"output": "7"}],
            "memory_mb": 128,
        },
    }


if __name__ == "__main__":
    main()
