"""A worker added after training: how much of what it could add do 96 probes bring?

Each worker of the strong roster is left out in turn: a planner learns from runs of the
other five, then takes the left-out one in as a training for a newcomer does, by probes
of its roles, a fit, plans that would be best if it is as good as a draw, and a fit. It
is compared with the planner without it, and with one that has learned from as many runs
of all six. Scores are exact, of 600 questions.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.planners.light.probes import PROBES, drawn_belief, role_probe
from apps.simulator.benchmark.tasks import BenchTask, drawn_task
from apps.simulator.benchmark.workers import ROSTERS, BenchWorker
from apps.training.fitting.light import fit_light
from apps.training.trainings.settings import PROBES as PROBE_RUNS
from apps.training.trainings.settings import TRIALS as TRIAL_RUNS
from bench.figures import keep, say
from bench.learning import learned
from bench.learning_scores import HELD_OUT, HELD_OUT_SEED
from bench.learning_world import (
    FAMILIES,
    bench_plan,
    executed,
    request,
    scored,
    tasks,
)

SEEDS = range(3)
SIZES = (2_000, 5_000)
STRONG = ROSTERS["strong"]
PROBE_SEED, TRIAL_SEED = 9_000, 19_000
"""Added to a seed, for the questions of probes and of plans with the newcomer."""


def balanced(count: int, seed: int) -> Iterator[BenchTask]:
    """Yield tasks of the families in turn, as an evaluation draws them."""
    made = index = 0
    while made < count:
        task = drawn_task(FAMILIES[made % len(FAMILIES)], seed, index)
        index += 1
        if task:
            made += 1
            yield task


def probed(
    runs: Sequence[LoggedRun],
    model: LightModel,
    others: Sequence[BenchWorker],
    newcomer: BenchWorker,
    seed: int,
) -> LightModel:
    """Return what is known once a newcomer has been probed; `runs` are the others'."""
    names = [worker.name for worker in others]
    everyone = [*names, newcomer.name]
    probes = list(_probes(model, others, newcomer, seed))
    first = fit_light([*runs, *probes], everyone).model
    trials = list(_trials(first, [*others, newcomer], newcomer, seed))
    return fit_light([*runs, *probes, *trials], everyone).model


def _probes(
    model: LightModel, others: Sequence[BenchWorker], newcomer: BenchWorker, seed: int
) -> Iterator[LoggedRun]:
    chance = random.Random(f"probes {seed} {newcomer.name}")  # nosec B311
    by_name = {worker.name: worker for worker in (*others, newcomer)}
    names = [worker.name for worker in others]
    for index, task in enumerate(balanced(PROBE_RUNS, PROBE_SEED + seed)):
        probe = PROBES[index // len(FAMILIES) % len(PROBES)]
        template, chosen = role_probe(
            probe, newcomer.name, names, task.question, model, chance
        )
        workers = [by_name[name] for name in chosen]
        yield executed(chance, task, template, workers)


def _trials(
    model: LightModel, pool: Sequence[BenchWorker], newcomer: BenchWorker, seed: int
) -> Iterator[LoggedRun]:
    chance = random.Random(f"trials {seed} {newcomer.name}")  # nosec B311
    by_name = {worker.name: worker for worker in pool}
    for task in balanced(TRIAL_RUNS, TRIAL_SEED + seed):
        planner = LightPlanner(drawn_belief(model, newcomer.name, chance), 1)
        asked = request(task.question, pool)
        ranking = planner.ranking(asked, 1, newcomer.name)
        best = ranking.candidates[0]
        workers = [by_name[ranking.workers[place]] for place in best.workers]
        yield executed(chance, task, best.template, workers)


def success(model: LightModel, pool: Sequence[BenchWorker], seed: int) -> float:
    """Return the exact success of a planner's plans for the questions of a seed."""
    planner = LightPlanner(model, 1)
    by_name = {worker.name: worker for worker in pool}
    scores = []
    for task in tasks(HELD_OUT, seed):
        ranking = planner.ranking(request(task.question, pool), 1)
        best = ranking.candidates[0]
        workers = [by_name[ranking.workers[place]] for place in best.workers]
        plan = bench_plan(best.template, workers)
        scores.append(scored(plan, task.family).success)
    return statistics.fmean(scores)


def main() -> None:
    """Measure, and keep the figures of the reported questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=HELD_OUT_SEED)
    questions: int = parser.parse_args().questions
    rows = [
        row for size in SIZES for seed in SEEDS for row in _rows(size, seed, questions)
    ]
    if questions == HELD_OUT_SEED:
        figures: dict[str, Any] = {
            "rounds": len(SEEDS),
            "held_out": HELD_OUT,
            "probes": PROBE_RUNS + TRIAL_RUNS,
            "rows": rows,
        }
        keep("learning_newcomers", figures)


def _rows(size: int, seed: int, questions: int) -> Iterator[dict[str, Any]]:
    every = success(learned(STRONG, size, seed).model, STRONG, questions)
    for newcomer in STRONG:
        others = [worker for worker in STRONG if worker is not newcomer]
        found = learned(others, size, seed)
        model = probed(found.runs, found.model, others, newcomer, seed)
        row = {
            "runs": size,
            "seed": seed,
            "newcomer": newcomer.name,
            "without": success(found.model, others, questions),
            "probed": success(model, [*others, newcomer], questions),
            "from_the_start": every,
        }
        say(f"  {row}")
        yield row


if __name__ == "__main__":
    main()
