"""The tasks of an earlier evaluation, with what single workers did with them."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from uuid import UUID

from apps.evaluation.models import GRADED, ResultState, StoredTask
from apps.evaluation.selectors import access_evaluation, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.storage import task_read
from apps.evaluation.systems.task_index import MeasuredTask, TaskIndex

KEPT = 4
"""Indexes in memory; an evaluation that has ended never changes."""


@lru_cache(maxsize=KEPT)
def task_index(team_id: UUID, evaluation_id: UUID) -> TaskIndex:
    """Return the tasks of an evaluation that has ended. Raises: NotFound."""
    evaluation = access_evaluation(team_id=team_id, evaluation_id=evaluation_id)
    settings = EvaluationSettings.model_validate(evaluation.settings)
    workers = settings.single_workers
    rows = results_of(evaluation).filter(state__in=GRADED, system__in=workers)
    outcomes: dict[int, dict[str, tuple[bool, int]]] = defaultdict(dict)
    for task, system, state, cost in rows.values_list(
        "task_id", "system", "state", "cost_micros"
    ):
        outcomes[task][workers[system]] = (state == ResultState.RIGHT, cost)
    stored = StoredTask.objects.for_team(team_id).filter(id__in=list(outcomes))
    return TaskIndex(
        [
            MeasuredTask(task_read(each).prompt, outcomes[each.pk])
            for each in stored.order_by("index")
        ]
    )
