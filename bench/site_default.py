"""Makes the site's default of light planners, from simulated workers drawn by chance.

`python -m bench.site_default` writes the file that `apps.planners.light.site_default`
reads. None of the benchmark's own workers is among those that it is fitted on, so these
can measure it (`bench.learning_site_default`).
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from apps.planners.light.profiles import Profiles
from apps.planners.light.site_default import FORMAT, PATH, calibrated_profiles
from apps.planners.light.situations import Situation, situations
from apps.planners.light.step_model import step_features
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import ROLES, fit_token_model
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.workers import BenchWorker
from apps.training.fitting.light import situation_columns
from bench.figures import say
from bench.learning_world import FAMILIES, explored, tasks

ROSTERS, RUNS = 200, 200
"""Pools that are drawn, and the explored runs of each."""
WORKERS = (3, 8)
ANSWERS = (5, 10, 20, 40)
"""Of a worker to tasks of a family: what calibrations have."""
REGULARIZATION = 1.0
DIGITS = 4


def drawn_roster(seed: int) -> tuple[BenchWorker, ...]:
    """Return workers whose skills are drawn: some are good at much, some at little."""
    chance = random.Random(f"site default {seed}")  # nosec B311
    return tuple(_worker(chance, place) for place in range(chance.randint(*WORKERS)))


def _worker(chance: random.Random, place: int) -> BenchWorker:
    general = chance.gauss(0, 1)

    def share(mean: float, spread: float) -> float:
        return 1 / (1 + math.exp(-(mean + chance.gauss(0, spread))))

    families = tuple(map(str, FAMILIES))
    solve = {family: share(general, 1.5) for family in families}
    word_problems = str(TaskFamily.WORD_PROBLEMS)
    guided = max(solve[word_problems], share(general + 0.8, 1.2))
    return BenchWorker(
        name=f"drawn-{place}",
        description="",
        price=chance.randint(1, 10),
        solve=solve,
        guided={word_problems: guided},
        planning=share(general, 1.5),
        repair={family: share(general - 0.8, 1.0) for family in families},
    )


def calibrated(
    roster: Sequence[BenchWorker], answers: int, chance: random.Random
) -> Profiles:
    """Return the profiles of a calibration with so many answers for each family."""
    right = [
        [
            sum(chance.random() < worker.solve[str(family)] for _ in range(answers))
            for family in FAMILIES
        ]
        for worker in roster
    ]
    seen = np.full((len(roster), len(FAMILIES)), float(answers))
    return calibrated_profiles(seen, np.array(right, np.float64))


def _answers(seed: int) -> tuple[Floats, list[int], list[Any]]:
    """Return features of graded answers of one roster, which were right, and runs."""
    roster = drawn_roster(seed)
    chance = random.Random(f"calibration {seed}")  # nosec B311
    table = calibrated(roster, chance.choice(ANSWERS), chance).table()
    index_of = {worker.name: index for index, worker in enumerate(roster)}
    runs = list(explored(RUNS, seed, roster))
    found: list[Situation] = []
    kinds: list[int] = []
    for task, run in zip(tasks(RUNS, seed), runs, strict=True):
        some = list(situations(run, index_of))
        found += some
        kinds += [FAMILIES.index(TaskFamily(task.family))] * len(some)
    rows = situation_columns(found, np.array(kinds))
    return step_features(table, rows), [int(each.is_right) for each in found], runs


def main() -> None:
    """Fit the default, and write its file."""
    features, is_right, runs = [], [], []
    for seed in range(ROSTERS):
        some, right, logged = _answers(seed)
        features.append(some)
        is_right += right
        runs += logged
    fitted = LogisticRegression(C=REGULARIZATION, max_iter=1_000)
    fitted.fit(np.concatenate(features), is_right)
    names = sorted({step.worker for run in runs for step in run.steps})
    tokens = fit_token_model(runs, names)
    document = {
        "format": FORMAT,
        "fitted_on": f"simulated benchmark, {ROSTERS} pools drawn by chance",
        "graded_answers": len(is_right),
        "intercept": round(float(fitted.intercept_[0]), DIGITS),
        "weights": [round(float(each), DIGITS) for each in fitted.coef_[0]],
        "outputs": _by_role(tokens.outputs.mean(axis=1)),
        "overhead": _by_role(tokens.overhead),
    }
    PATH.write_text(json.dumps(document, indent=1) + "\n")
    say(f"{PATH}: {len(is_right):,} graded answers")


def _by_role(values: Floats) -> dict[str, float]:
    pairs = zip(ROLES, values, strict=True)
    return {role.value: round(float(value), 1) for role, value in pairs}


if __name__ == "__main__":
    main()
