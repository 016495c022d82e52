"""Suites of the use cases as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from apps.simulator.benchmark.tasks import BenchTask, distinct_tasks
from apps.simulator.cases.use_case import UseCase

TASKS, SEED = 90, 7
"""Of the suites in docs/examples."""


def case_tasks(case: UseCase) -> list[tuple[BenchTask, str]]:
    """Return the tasks of a use case with their splits, half of each family each."""
    families = case.families
    made = distinct_tasks(TASKS, SEED, families, case.forms)
    splits = ("training", "held_out")
    return [
        (task, splits[index // len(families) % 2]) for index, task in enumerate(made)
    ]


def case_lines(case: UseCase) -> Iterator[bytes]:
    """Yield the lines of the suite of a use case."""
    for index, (task, split) in enumerate(case_tasks(case)):
        row = {
            "id": f"simulated-{case.name}-{index:03}",
            "family": str(task.family),
            "prompt": task.question,
            "verifier": task.verifier,
            "split": split,
        }
        yield orjson.dumps(row) + b"\n"
