"""Suites of the simulated benchmark as JSON Lines, and its reference figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from apps.simulator.benchmark.expectations import FAMILIES, baselines, expected_score
from apps.simulator.benchmark.tasks import distinct_tasks
from apps.simulator.benchmark.workers import ROSTERS

SAMPLE_TASKS, SAMPLE_SEED = 120, 7
"""The sample suite's."""


def suite_rows(count: int, seed: int, training: int = 0) -> Iterator[dict[str, Any]]:
    """Yield `count` tasks as rows of a suite, half of each family held out.

    Then as many further ones to train on as `training` says. Raises: TooManyTasks.
    """
    for index, task in enumerate(distinct_tasks(count + training, seed)):
        is_held_out = index < count and index // len(FAMILIES) % 2
        yield {
            "id": f"simulated-{seed}-{index:05}",
            "family": str(task.family),
            "prompt": task.question,
            "verifier": task.verifier,
            "split": "held_out" if is_held_out else "training",
        }


def json_lines(count: int, seed: int, training: int = 0) -> Iterator[bytes]:
    """Yield the lines of a suite, as `suite_rows` has them.

    Raises: TooManyTasks.
    """
    for row in suite_rows(count, seed, training):
        yield orjson.dumps(row) + b"\n"


def figures() -> str:
    """Return the expected scores of the baselines as tables in Markdown."""
    return "\n\n".join(map(_table, ROSTERS))


def _table(roster: str) -> str:
    pool = ROSTERS[roster]
    heads = [family.value.replace("_", " ") for family in FAMILIES]
    lines = [
        f"| {roster} generalist, simulated | {' | '.join(heads)} | mean |",
        "|---|" + "---|" * (len(FAMILIES) + 1),
    ]
    for name in baselines(FAMILIES[0], pool):
        scores = [expected_score(baselines(f, pool)[name], f) for f in FAMILIES]
        cells = [f"{score:.3f}" for score in (*scores, sum(scores) / len(scores))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
