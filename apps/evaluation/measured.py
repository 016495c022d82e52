"""What earlier evaluations say of workers, for systems that choose by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from django.db.models import Count, Q, Sum

from apps.audit.models import JobState
from apps.core.errors import InvalidInput
from apps.evaluation.models import GRADED, Evaluation, ResultState, SuiteVersion
from apps.evaluation.selectors import access_evaluation, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.systems.kinds import System
from apps.evaluation.systems.nearest_neighbors import NearestNeighborsSystem
from apps.evaluation.systems.worker_per_family import WorkerPerFamilySystem

Score = tuple[float, int]
"""Share of tasks that were right, and the negative cost of a task: more is better."""


def with_measured(
    settings: EvaluationSettings, version: SuiteVersion
) -> EvaluationSettings:
    """Return the settings with what their systems have to know of workers.

    Raises: NotFound; InvalidInput if there is nothing to know, or if it comes from the
    very tasks that are to be run.
    """
    systems = [_measured(system, settings, version) for system in settings.systems]
    return settings.model_copy(update={"systems": tuple(systems)})


def _measured(
    system: System, settings: EvaluationSettings, version: SuiteVersion
) -> System:
    if not isinstance(system, WorkerPerFamilySystem | NearestNeighborsSystem):
        return system
    earlier = access_evaluation(
        team_id=version.team_id, evaluation_id=system.measured_by
    )
    was = EvaluationSettings.model_validate(earlier.settings)
    if earlier.version.suite_id == version.suite_id and was.split == settings.split:
        raise InvalidInput(
            f"{system.label}: evaluation {earlier.id} ran the same tasks; measure the "
            "workers on the training tasks or on another suite",
            param="systems",
        )
    if earlier.state != JobState.DONE:
        raise InvalidInput(
            f"{system.label}: evaluation {earlier.id} has not ended", param="systems"
        )
    scores = _scores(earlier, was)
    if not scores:
        raise InvalidInput(
            f"{system.label}: evaluation {earlier.id} has no result of a single worker",
            param="systems",
        )
    if isinstance(system, NearestNeighborsSystem):
        workers = tuple(sorted(_overall(earlier, was)))
        return system.model_copy(update={"workers": workers})
    return system.model_copy(
        update={
            "workers": {family: _best(scores[family]) for family in sorted(scores)},
            "others": _best(_overall(earlier, was)),
        }
    )


def _best(scores: Mapping[str, Score]) -> str:
    """Return the worker with the best score; of equal ones the first by name."""
    return max(sorted(scores), key=lambda worker: scores[worker])


def _scores(
    evaluation: Evaluation, settings: EvaluationSettings
) -> dict[str, dict[str, Score]]:
    """Return the score of each single worker, by family."""
    found: dict[str, dict[str, Score]] = defaultdict(dict)
    for family, worker, score in _rows(evaluation, settings, "task__family"):
        found[family][worker] = score
    return dict(found)


def _overall(evaluation: Evaluation, settings: EvaluationSettings) -> dict[str, Score]:
    return {worker: score for _, worker, score in _rows(evaluation, settings)}


def _rows(
    evaluation: Evaluation, settings: EvaluationSettings, *groups: str
) -> list[tuple[str, str, Score]]:
    workers = settings.single_workers
    rows = results_of(evaluation).filter(state__in=GRADED, system__in=workers)
    counted = rows.values("system", *groups).annotate(
        ended=Count("id"),
        right=Count("id", filter=Q(state=ResultState.RIGHT)),
        cost=Sum("cost_micros"),
    )
    return [
        (
            row.get("task__family", ""),
            workers[row["system"]],
            (row["right"] / row["ended"], -row["cost"] // row["ended"]),
        )
        for row in counted.order_by()
    ]
