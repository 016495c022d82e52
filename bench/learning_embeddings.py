"""Kinds of prompts by an embedding worker, against n-grams: as logged, and reworded.

`python -m bench.learning_embeddings`. The vectors are the simulator's, which are sums
of words: texts that share words are alike, and nothing of their meaning is in them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.planners.light.prompt_features import PromptFeatures, unit_vector
from apps.planners.light.text_features import Floats
from apps.simulator.benchmark.workers import BenchWorker
from apps.simulator.embedding import DIMENSIONS, text_vector
from apps.training.fitting.gathering import PromptEmbedding
from apps.training.fitting.light import fit_light
from bench.learning import POOLS, ROSTERS, SEEDS, learned
from bench.learning_rewording import reworded
from bench.learning_scores import Held, held_out
from bench.learning_world import bench_plan, request, scored

RUNS = 2_000
ROSTER = "strong"
WORKER, MODEL = "vectors", "sim-embedding"
PERCENTILE = 95


@lru_cache(maxsize=50_000)
def vector(text: str) -> Floats:
    """Return the simulator's vector of a text, of length 1."""
    numbers = np.array(text_vector(text, DIMENSIONS), "<f4")
    found = unit_vector(numbers.tobytes(), DIMENSIONS)
    assert found is not None
    return found


def by_vectors(runs: Sequence[LoggedRun], roster: Sequence[BenchWorker]) -> LightModel:
    """Return what the same runs say with kinds by vectors."""
    vectors = {run.prompt: vector(run.prompt) for run in runs}
    embedding = PromptEmbedding(WORKER, MODEL, vectors)
    names = [worker.name for worker in roster]
    return fit_light(runs, names, embedding=embedding).model


def right(
    model: LightModel,
    held: Held,
    words: Callable[[str], str],
    has_vector: bool,
    taken: list[float],
) -> float:
    """Return how often plans for questions are right; note how long each took, ms."""
    scores = []
    for task, pool in zip(held.tasks, held.pools, strict=True):
        question = words(task.question)
        given = PromptFeatures(vector(question)) if has_vector else PromptFeatures()
        planner = LightPlanner(replace(model), 1)
        began = time.process_time()
        ranking = planner.ranking(request(question, pool), features=given)
        taken.append(1_000 * (time.process_time() - began))
        best = ranking.candidates[0]
        by_name = {worker.name: worker for worker in pool}
        workers = [by_name[ranking.workers[place]] for place in best.workers]
        scores.append(scored(bench_plan(best.template, workers), task.family))
    return statistics.fmean(score.success for score in scores)


def main() -> None:
    """Print the figures of each seed."""
    roster = ROSTERS[ROSTER]
    held = {pool: held_out(roster, pool) for pool in POOLS}
    taken: list[float] = []
    for seed in SEEDS:
        found = learned(roster, RUNS, seed)
        embedded = by_vectors(found.runs, roster)
        for pool in POOLS:
            for label, words in (("as logged", str), ("reworded", reworded)):
                rows = (
                    ("n-grams", found.model, False, []),
                    ("vectors", embedded, True, taken),
                    ("fallback", embedded, False, []),
                )
                said = [
                    f"{name} {right(model, held[pool], words, has, ms):.3f}"
                    for name, model, has, ms in rows
                ]
                print(seed, pool, label, *said, flush=True)
    print(f"p{PERCENTILE} {np.percentile(taken, PERCENTILE):.2f} ms")


if __name__ == "__main__":
    main()
