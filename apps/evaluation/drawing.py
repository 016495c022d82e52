"""Draws the tasks of an evaluation from its suite, family by family."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, zip_longest

from apps.evaluation.models import StoredTask, SuiteVersion
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.tasks import Split


def tasks_drawn(version: SuiteVersion, settings: EvaluationSettings) -> list[int]:
    """Return the ids of the tasks to run, in their order in the suite.

    With `max_tasks` each family gives as many as any other, as far as it has them.
    The same settings draw the same tasks.
    """
    return tasks_of_split(
        version,
        settings.split,
        settings.max_tasks,
        settings.seed,
        families=settings.families,
    )


def tasks_of_split(
    version: SuiteVersion,
    split: Split,
    max_tasks: int | None,
    seed: int,
    families: Sequence[str] = (),
) -> list[int]:
    """Return the same of a split. `families` empty: of all."""
    rows = StoredTask.objects.for_team(version.team_id).filter(
        version=version, split=split
    )
    if families:
        rows = rows.filter(family__in=families)
    found = list(rows.order_by("index").values_list("id", "index", "family"))
    if max_tasks is None or len(found) <= max_tasks:
        return [task_id for task_id, _, _ in found]
    by_family: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for task_id, index, family in found:
        by_family[family].append((index, task_id))
    chance = random.Random(f"{seed} tasks")  # nosec B311
    for tasks in by_family.values():
        chance.shuffle(tasks)
    in_turn = chain.from_iterable(zip_longest(*by_family.values()))
    drawn = [task for task in in_turn if task is not None]
    return [task_id for _, task_id in sorted(drawn[:max_tasks])]
