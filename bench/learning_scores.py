"""Exact figures of plans for held-out questions of the simulated benchmark."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.simulator.benchmark.expectations import baselines, sub_pool
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.tasks import BenchTask
from apps.simulator.benchmark.workers import BenchWorker
from bench.learning_world import Score, bench_plan, request, scored, tasks

HELD_OUT = 600
HELD_OUT_SEED = 424_242
"""Of reported figures. Choices are made on questions of another seed."""


@dataclass(frozen=True)
class Held:
    """Questions that nothing was learned from, each with its pool."""

    tasks: list[BenchTask]
    pools: Sequence[Sequence[BenchWorker]]


def held_out(
    roster: Sequence[BenchWorker], pool: str, seed: int = HELD_OUT_SEED
) -> Held:
    """Return the questions, `fixed` with the whole roster, or with parts of it."""
    asked = list(tasks(HELD_OUT, seed))
    if pool == "fixed":
        return Held(asked, [roster] * len(asked))
    return Held(asked, [sub_pool(roster, seed, index) for index in range(len(asked))])


def baseline_figures(held: Held) -> dict[str, dict[str, float]]:
    """Return the figures of the plans by rule, and of the oracle."""
    rows: dict[str, list[Score]] = {}
    for task, pool in zip(held.tasks, held.pools, strict=True):
        for name, plan in baselines(TaskFamily(task.family), pool).items():
            rows.setdefault(name, []).append(scored(plan, task.family))
    return {name: _means(scores) for name, scores in rows.items()}


def planned(
    model: LightModel,
    held: Held,
    reworded: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Return the figures of the light planner's plans, and the time that they took.

    `plan_ms` is the median and the 95th percentile of CPU time, in milliseconds; no
    table of a kind is kept from one question to the next.
    """
    scores, taken = [], []
    for task, pool in zip(held.tasks, held.pools, strict=True):
        asked = request(reworded(task.question), pool)
        planner = LightPlanner(replace(model), 1)
        began = time.process_time()
        ranking = planner.ranking(asked)
        taken.append(1000 * (time.process_time() - began))
        best = ranking.candidates[0]
        by_name = {worker.name: worker for worker in pool}
        workers = [by_name[ranking.workers[place]] for place in best.workers]
        scores.append(scored(bench_plan(best.template, workers), task.family))
    parts = statistics.quantiles(taken, n=20)
    return {**_means(scores), "plan_ms": [statistics.median(taken), parts[-1]]}


def _means(scores: Sequence[Score]) -> dict[str, float]:
    return {
        "success": statistics.fmean(score.success for score in scores),
        "steps": statistics.fmean(score.steps for score in scores),
        "tokens": statistics.fmean(score.tokens for score in scores),
        "cost_micros": statistics.fmean(score.cost_micros for score in scores),
    }
