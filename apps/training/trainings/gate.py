"""The gate: is a new version better on held-out tasks than everything else there is?

Compared with each other system that was run, and with the best worker of each family
as the learning data has it, whose answers are among those of the workers alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.evaluation.models import Evaluation, ResultState
from apps.evaluation.reports.statistics import Interval, paired_difference, share
from apps.evaluation.selectors import results_of
from apps.evaluation.settings import EvaluationSettings
from apps.training.trainings.gate_result import BETTER, GateResult, gate_result

PER_FAMILY = "best worker per family, as measured"


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What one system did with one task."""

    is_right: bool
    cost_micros: int
    tokens: int


TaskOutcomes = Mapping[int, TaskOutcome]
"""By task."""


def gate_report(
    evaluation: Evaluation, best_by_family: Mapping[str, str], margin: float
) -> dict[str, Any]:
    """Return how the first system did, and whether it is better than all others.

    `best_by_family` names a worker for each family of tasks. Of each other system
    there is the paired difference to the first with its 95 % interval. The result is
    that of `gate_result` on the most accurate of them, with `margin` from 0 to 1.
    """
    settings = EvaluationSettings.model_validate(evaluation.settings)
    labels = [system.label for system in settings.systems]
    by_system, families = _outcomes(evaluation)
    new = by_system.get(0, {})
    others: dict[str, TaskOutcomes] = {
        labels[place]: by_system.get(place, {}) for place in range(1, len(labels))
    }
    alone = {name: others.get(name, {}) for name in settings.single_workers.values()}
    if routed := _routed(families, best_by_family, alone):
        others[PER_FAMILY] = routed
    compared = [_compared(name, new, other) for name, other in others.items() if other]
    compared.sort(key=lambda each: -each["success"])
    best = compared[0] if compared else None
    means = _means(new)
    result = _result(best, means["cost_micros"], margin)
    return {
        "evaluation": str(evaluation.id),
        "is_simulated": evaluation.is_simulated,
        "tasks": len(new),
        "new": {"name": labels[0], "success": _success(new), **means},
        "others": compared,
        "margin": margin,
        "best_other": None if best is None else best["name"],
        "result": result.value,
        "is_better": result in BETTER,
    }


def _result(
    best: Mapping[str, Any] | None, cost_micros: int, margin: float
) -> GateResult:
    if best is None or best["difference"] is None:
        return gate_result(None, None, margin)
    difference = Interval(best["difference"], best["low"], best["high"])
    rival = best["cost_micros"]
    return gate_result(difference, cost_micros / rival if rival else None, margin)


def _outcomes(
    evaluation: Evaluation,
) -> tuple[dict[int, dict[int, TaskOutcome]], dict[int, str]]:
    """Return outcomes by system and task, and the families of the tasks.

    A task whose run failed, by no fault of the plan, counts as wrong: it has no answer.
    """
    by_system: dict[int, dict[int, TaskOutcome]] = defaultdict(dict)
    families = {}
    for row in results_of(evaluation).select_related("task"):
        families[row.task_id] = row.task.family
        by_system[row.system][row.task_id] = TaskOutcome(
            row.state == ResultState.RIGHT, row.cost_micros, row.tokens
        )
    return by_system, families


def _routed(
    families: Mapping[int, str],
    best_by_family: Mapping[str, str],
    alone: Mapping[str, TaskOutcomes],
) -> TaskOutcomes:
    """Return what the best worker of each family did alone; none if one is missing."""
    found = {}
    for task, family in families.items():
        outcomes = alone.get(best_by_family.get(family, ""), {})
        if task not in outcomes:
            return {}
        found[task] = outcomes[task]
    return found


def _compared(name: str, new: TaskOutcomes, other: TaskOutcomes) -> dict[str, Any]:
    both = new.keys() & other.keys()
    pairs = [(new[task].is_right, other[task].is_right) for task in both]
    difference = paired_difference(
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
    )
    return {
        "name": name,
        "success": _success(other),
        **_means(other),
        "difference": None if difference is None else round(difference.value, 4),
        "low": None if difference is None else round(difference.low, 4),
        "high": None if difference is None else round(difference.high, 4),
    }


def _success(outcomes: TaskOutcomes) -> float:
    right = sum(each.is_right for each in outcomes.values())
    found = share(right, len(outcomes))
    return 0.0 if found is None else round(found.value, 4)


def _means(outcomes: TaskOutcomes) -> dict[str, int]:
    count = max(1, len(outcomes))
    return {
        "cost_micros": round(sum(e.cost_micros for e in outcomes.values()) / count),
        "tokens": round(sum(e.tokens for e in outcomes.values()) / count),
    }
