"""Reads of a version of a suite: what is in it, its tasks, and its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson
from django.db.models import Count

from apps.core.scoping import TeamQuerySet
from apps.evaluation.models import StoredTask, SuiteVersion
from apps.evaluation.suites.storage import task_read, task_values

ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class TaskCount:
    """How many tasks of one family and split a version has."""

    family: str
    split: str
    tasks: int


def task_counts(version: SuiteVersion) -> list[TaskCount]:
    """Return how many tasks there are of each family and split."""
    rows = task_rows(version).order_by("family", "split").values("family", "split")
    return [TaskCount(**row) for row in rows.annotate(tasks=Count("id"))]


def task_rows(
    version: SuiteVersion, *, family: str = "", split: str = ""
) -> TeamQuerySet[StoredTask]:
    """Return the stored tasks of a version in their order. Empty filters: all."""
    rows = StoredTask.objects.for_team(version.team_id).filter(version=version)
    if family:
        rows = rows.filter(family=family)
    if split:
        rows = rows.filter(split=split)
    return rows.order_by("index")


def task_lines(version: SuiteVersion) -> Iterator[bytes]:
    """Yield the tasks as lines of JSON, which can be imported again."""
    for row in task_rows(version).iterator(chunk_size=ROWS_AT_ONCE):
        yield orjson.dumps(
            task_values(task_read(row)), option=orjson.OPT_APPEND_NEWLINE
        )
