"""Exact figures of a conductor's replies to held-out questions of the benchmark."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.engine.errors import PlanRejected
from apps.engine.plan import validate
from apps.planners.light.logged_runs import role_of_subtask
from apps.planners.list_plan_parser import parse_lists
from apps.simulator.benchmark.expectations import BenchPlan, BenchStep
from apps.simulator.benchmark.tasks import BenchTask
from apps.simulator.benchmark.workers import BenchWorker
from bench.learning_scores import Held
from bench.learning_world import MAX_STEPS, ROLES, scored


def reply_figures(replies: Sequence[str], held: Held) -> dict[str, Any]:
    """Return the figures of plans; a reply that is no valid plan is wrong, at no cost.

    `families` has the success in each family, and the share of its steps by worker.
    """
    rows = [
        _row(reply, task, pool)
        for reply, task, pool in zip(replies, held.tasks, held.pools, strict=True)
    ]
    return {
        "success": _mean(row.success for row in rows),
        "valid": _mean(float(bool(row.workers)) for row in rows),
        "steps": _mean(float(len(row.workers)) for row in rows),
        "tokens": _mean(float(row.tokens) for row in rows),
        "cost_micros": _mean(row.cost_micros for row in rows),
        "families": {
            family: _of_family([row for row in rows if row.family == family])
            for family in sorted({row.family for row in rows})
        },
    }


@dataclass(frozen=True, slots=True)
class _Row:
    family: str
    success: float
    tokens: int
    cost_micros: float
    workers: tuple[str, ...]


def _row(reply: str, task: BenchTask, pool: Sequence[BenchWorker]) -> _Row:
    plan = bench_plan_of(reply, pool)
    if plan is None:
        return _Row(task.family, 0.0, 0, 0.0, ())
    score = scored(plan, task.family)
    workers = tuple(step.worker.name for step in plan)
    return _Row(task.family, score.success, score.tokens, score.cost_micros, workers)


def _of_family(rows: Sequence[_Row]) -> dict[str, Any]:
    used = Counter(name for row in rows for name in row.workers)
    return {
        "success": _mean(row.success for row in rows),
        "shares": {name: count / used.total() for name, count in used.most_common()},
    }


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def bench_plan_of(text: str, pool: Sequence[BenchWorker]) -> BenchPlan | None:
    """Return the plan in a reply, read as that of any conductor; None: no valid one.

    `pool` has the workers by their numbers.
    """
    by_name = {worker.name: worker for worker in pool}
    try:
        plan = parse_lists(text, tuple(by_name))
        if plan is None:
            return None
        validate(plan, workers=by_name.keys(), max_steps=MAX_STEPS)
    except PlanRejected:
        return None
    return tuple(
        BenchStep(
            by_name[step.worker],
            ROLES[role_of_subtask(step.subtask, step.access)],
            step.access,
        )
        for step in plan.steps
    )
