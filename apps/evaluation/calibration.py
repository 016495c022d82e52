"""Calibration: single workers run a sample of a suite, and get profiles from it.

It uses the training tasks, so that no system that chooses by profiles has seen the
held-out ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median_low
from typing import Any

from apps.audit.types import Actor
from apps.evaluation.models import (
    Evaluation,
    EvaluationOutcome,
    ResultState,
    StoredTask,
    SuiteVersion,
)
from apps.evaluation.selectors import results_of
from apps.evaluation.settings import EvaluationSettings
from apps.pools.services import profiles_replace
from apps.pools.worker_figures.profiles import CalibrationSource, FamilyMeasurement

SPLIT = "training"
TASKS_PER_FAMILY = 20
ANSWERED = (ResultState.RIGHT, ResultState.WRONG)


def calibration_values(
    version: SuiteVersion,
    *,
    pool: str,
    workers: Sequence[str],
    tasks_per_family: int,
    **others: Any,
) -> dict[str, Any]:
    """Return the settings of an evaluation that calibrates workers of a pool."""
    tasks = StoredTask.objects.for_team(version.team_id).filter(
        version=version, split=SPLIT
    )
    families = tasks.order_by().values("family").distinct().count()
    return {
        "pool": pool,
        "systems": [{"kind": "worker", "worker": worker} for worker in workers],
        "split": SPLIT,
        "max_tasks": max(families, 1) * tasks_per_family,
        "is_calibration": True,
        **others,
    }


def profiles_store(evaluation: Evaluation) -> None:
    """Make profiles of a calibration that is complete; do nothing for others.

    Call it in the transaction that ends the evaluation. Runs that failed say that a
    worker was out of reach, not what it can do: they are left out.
    """
    settings = EvaluationSettings.model_validate(evaluation.settings)
    is_whole = evaluation.outcome == EvaluationOutcome.COMPLETED
    if not (settings.is_calibration and is_whole):
        return
    assert evaluation.finished_at is not None  # it is complete
    version = evaluation.version
    profiles_replace(
        team_id=evaluation.team_id,
        measured=_measured(evaluation, settings),
        source=CalibrationSource(
            f"{version.suite.name}, version {version.number}"[:100],
            evaluation.id,
            evaluation.is_simulated,
        ),
        measured_at=evaluation.finished_at,
        actor=Actor(**evaluation.requested_by),
    )


def _measured(
    evaluation: Evaluation, settings: EvaluationSettings
) -> dict[str, list[FamilyMeasurement]]:
    """Return measurements by worker, those of families by name."""
    groups: dict[tuple[int, str], list[Any]] = defaultdict(list)
    rows = results_of(evaluation).filter(state__in=ANSWERED)
    for system, family, *figures in rows.values_list(
        "system", "task__family", "state", "tokens", "cost_micros", "latency_ms"
    ):
        groups[system, family].append(figures)
    found: dict[str, list[FamilyMeasurement]] = defaultdict(list)
    for (system, family), figures in sorted(groups.items()):
        states, tokens, costs, latencies = zip(*figures, strict=True)
        found[settings.systems[system].named_workers[0]].append(
            FamilyMeasurement(
                family,
                tasks=len(states),
                right=states.count(ResultState.RIGHT),
                tokens=sum(tokens),
                cost_micros=sum(costs),
                latency_ms=median_low(latencies),
            )
        )
    return found
