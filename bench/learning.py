"""The light planner on the simulated benchmark: what it learns from how many runs.

Runs are logged in two rounds: half explored, half near the best plans of a planner
fitted on the first half. Then 600 questions are planned, and each plan is scored
exactly. Nothing was chosen on these questions. Set `OPENBLAS_NUM_THREADS=1` for CPU
times that compare.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.simulator.benchmark.workers import ROSTERS, BenchWorker
from apps.training.fitting.light import fit_light
from bench.figures import keep, say
from bench.learning_rewording import reworded
from bench.learning_scores import HELD_OUT, Held, baseline_figures, held_out, planned
from bench.learning_world import explored, near_best

SEEDS = range(5)
SIZES = {"strong": (500, 1_000, 2_000, 5_000), "weak": (2_000,)}
"""Logged runs, by the roster that they are of."""
REWORDED_AT = 2_000
POOLS = ("fixed", "k of n")
SECOND_ROUND = 1_000
"""Added to a seed, for the questions of its second round."""


@dataclass(frozen=True)
class Learned:
    """A model and the runs that it was fitted on."""

    model: LightModel
    runs: list[LoggedRun]
    fit_s: float
    """CPU time of the second fit."""


def learned(roster: Sequence[BenchWorker], count: int, seed: int) -> Learned:
    """Return what is learned from `count` runs in two rounds."""
    names = [worker.name for worker in roster]
    runs = list(explored(count // 2, seed, roster))
    first = LightPlanner(fit_light(runs, names).model, 1)
    runs += near_best(count - len(runs), SECOND_ROUND + seed, roster, first)
    began = time.process_time()
    model = fit_light(runs, names).model
    return Learned(model, runs, time.process_time() - began)


def main() -> None:
    """Measure, and keep the figures."""
    figures: dict[str, Any] = {"rounds": len(SEEDS), "held_out": HELD_OUT}
    for name, sizes in SIZES.items():
        held = {pool: held_out(ROSTERS[name], pool) for pool in POOLS}
        figures[name] = {
            "baselines": {pool: baseline_figures(held[pool]) for pool in POOLS},
            "sizes": {str(size): _measured(name, held, size) for size in sizes},
        }
    keep("learning", figures)


def _measured(name: str, held: dict[str, Held], size: int) -> dict[str, list[Any]]:
    """Return the figures of each seed, by pool."""
    rows: dict[str, list[Any]] = {pool: [] for pool in POOLS}
    for seed in SEEDS:
        found = learned(ROSTERS[name], size, seed)
        for pool in POOLS:
            row = {
                **planned(found.model, held[pool]),
                "fit_s": found.fit_s,
                "kinds": len(found.model.kinds),
            }
            if size == REWORDED_AT:
                again = planned(found.model, held[pool], reworded)
                row["success_reworded"] = again["success"]
            rows[pool].append(row)
            say(f"  {name}, {size:,} runs, seed {seed}, {pool}: {row['success']:.3f}")
    return rows


if __name__ == "__main__":
    main()
