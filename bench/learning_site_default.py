"""The site's default on the simulated benchmark: what one calibration is worth.

Each worker answers some training tasks of each family alone, by chance as ever; then
600 other questions are planned, and each plan is scored exactly. The best worker and
the best one of each family are those that the same calibration found.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from apps.planners.light.model import LightModel
from apps.planners.light.site_default import (
    FamilyProfile,
    site_default_digest,
    site_default_model,
)
from apps.planners.light.templates import ONE
from apps.simulator.benchmark.expectations import alone
from apps.simulator.benchmark.workers import ROSTERS, BenchWorker
from bench.figures import keep, say
from bench.learning_scores import HELD_OUT, Held, held_out, planned
from bench.learning_world import FAMILIES, executed, scored, tasks

SEEDS = range(5)
STRONG = ROSTERS["strong"]
ANSWERS = (5, 20, 40)
"""Of each worker, to tasks of each family."""
POOLS = ("fixed", "k of n")
DEFAULT = "site default"
SINGLE, PER_FAMILY = "best worker", "best worker per family"
"""As the calibration has them."""
TASK_SEED = 500
Profiles = Mapping[str, Mapping[str, FamilyProfile]]


def calibrated(
    roster: Sequence[BenchWorker], answers: int, seed: int
) -> tuple[Profiles, Mapping[str, Sequence[str]]]:
    """Return profiles by worker and family, and the prompts of each family."""
    asked: dict[str, list[Any]] = defaultdict(list)
    for task in tasks(12 * len(FAMILIES) * answers, TASK_SEED + seed):
        if len(asked[task.family]) < answers:
            asked[task.family].append(task)
    chance = random.Random(f"calibration {answers} {seed}")  # nosec B311
    found: dict[str, dict[str, FamilyProfile]] = {}
    for worker in roster:
        found[worker.name] = {}
        for family, some in asked.items():
            steps = [executed(chance, t, ONE, [worker]).steps[0] for t in some]
            found[worker.name][family] = FamilyProfile(
                len(steps),
                sum(step.grade == 1 for step in steps),
                sum(step.input_tokens + step.output_tokens for step in steps),
            )
    prompts = {f: [task.question for task in some] for f, some in asked.items()}
    return found, prompts


def default_model(
    roster: Sequence[BenchWorker], answers: int, seed: int
) -> tuple[LightModel, Profiles]:
    """Return the site's default for a calibration, and its profiles."""
    profiles, prompts = calibrated(roster, answers, seed)
    return site_default_model(profiles, prompts), profiles


def by_rule(profiles: Profiles, held: Held) -> dict[str, dict[str, float]]:
    """Return what the best worker, and that of each family, come to as measured."""
    rows: dict[str, list[Any]] = defaultdict(list)
    for task, pool in zip(held.tasks, held.pools, strict=True):

        def right(worker: BenchWorker, family: str = "") -> float:
            found = profiles[worker.name]
            return sum(p.right for f, p in found.items() if family in ("", f))

        best = max(pool, key=right)
        routed = max(pool, key=lambda w: (right(w, task.family), right(w)))
        rows[SINGLE].append(scored(alone(best), task.family))
        rows[PER_FAMILY].append(scored(alone(routed), task.family))
    return {
        name: {
            "success": statistics.fmean(score.success for score in scores),
            "cost_micros": statistics.fmean(score.cost_micros for score in scores),
        }
        for name, scores in rows.items()
    }


def main() -> None:
    """Measure, and keep the figures."""
    figures: dict[str, Any] = {
        "rounds": len(SEEDS),
        "held_out": HELD_OUT,
        "default_digest": site_default_digest(),
    }
    for pool in POOLS:
        held = held_out(STRONG, pool)
        figures[pool] = {str(answers): _seeds(answers, held) for answers in ANSWERS}
    keep("learning_site_default", figures)


def _seeds(answers: int, held: Held) -> list[dict[str, Any]]:
    rows = []
    for seed in SEEDS:
        model, profiles = default_model(STRONG, answers, seed)
        rows.append({DEFAULT: planned(model, held), **by_rule(profiles, held)})
        success = {name: round(found["success"], 3) for name, found in rows[-1].items()}
        say(f"  {answers} answers, seed {seed}: {success}")
    return rows


if __name__ == "__main__":
    main()
