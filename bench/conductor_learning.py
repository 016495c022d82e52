"""Tiny conductors on the simulated benchmark: how well they learn from a light planner.

A light planner learns from 5,000 logged runs. Its near-best plans for other questions
are what a tiny Qwen2 is fitted on, in a process of the training environment. The plans
that it then writes for 600 questions are read as those of any conductor, and scored
exactly. Nothing was chosen on these questions. Without the training environment the
figures that are kept stay as they are.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from apps.planners.light.planner import LightPlanner
from apps.simulator.benchmark.workers import ROSTERS, BenchWorker
from apps.training.conductor.examples import (
    ExpertExample,
    brief_prompt,
    expert_example,
    numbered,
    part_of,
)
from bench.conductor_scores import reply_figures
from bench.figures import keep, say
from bench.learning import POOLS, learned
from bench.learning_scores import HELD_OUT, Held, baseline_figures, held_out, planned
from bench.learning_world import MAX_STEPS, request, tasks
from bench.servers import ROOT

TRAINER = os.environ.get("TRAINER_PYTHON", str(ROOT / ".venv-vllm/bin/python"))
"""Python of the training environment."""
ROSTER = ROSTERS["strong"]
SEEDS = range(3)
RUNS = 5_000
QUESTIONS = 5_000
"""Added to a seed, for the questions of its examples."""
HELD, FITTED = "held_out", "fit.json"


@dataclass(frozen=True, slots=True)
class Course:
    """How conductors of one kind of pool are fitted."""

    examples: int
    sft: dict[str, Any]


FAST = {"learning_rate": 3e-3, "batch": 8, "group": 1}
COURSES = {
    "k of n": Course(12_000, {**FAST, "steps": 3_000}),
    "fixed": Course(1_500, {**FAST, "steps": 150}),
}
AT_ONCE = 3
"""Fits that run at the same time, on one thread each."""


def main() -> None:
    """Measure, and keep the figures. A folder that is named keeps models as well."""
    if not is_environment_there():
        say(f"  no torch for {TRAINER}: the kept figures of conductors stay")
        return
    with tempfile.TemporaryDirectory() as fresh:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else fresh)
        rows = measured(folder)
    held = {pool: held_out(ROSTER, pool) for pool in POOLS}
    figures = {
        "rounds": len(SEEDS),
        "runs": RUNS,
        "held_out": HELD_OUT,
        "courses": {pool: asdict(course) for pool, course in COURSES.items()},
        "baselines": {pool: baseline_figures(held[pool]) for pool in POOLS},
        "seeds": rows,
    }
    keep("conductor_learning", figures)


def measured(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each seed, by pool; what is in the folder is not redone."""
    planners = [LightPlanner(learned(ROSTER, RUNS, seed).model, 1) for seed in SEEDS]

    def one(job: tuple[str, int]) -> dict[str, Any]:
        pool, seed = job
        held = held_out(ROSTER, pool)
        place = folder / f"{pool.replace(' ', '-')}-{seed}"
        row = conducted(planners[seed], pool, held, seed, place)
        say(f"  conductor, {pool}, seed {seed}: {row['success']:.3f}")
        return {**row, "teacher": planned(planners[seed].model, held)}

    jobs = [(pool, seed) for pool in COURSES for seed in SEEDS]
    rows: dict[str, list[dict[str, Any]]] = {pool: [] for pool in COURSES}
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for (pool, _), row in zip(jobs, threads.map(one, jobs), strict=True):
            rows[pool].append(row)
    return rows


def is_environment_there() -> bool:
    """Say whether the training environment has torch."""
    command = [TRAINER, "-c", "import torch, transformers"]
    try:
        return not subprocess.run(command, capture_output=True, check=False).returncode
    except OSError:
        return False


def conducted(
    planner: LightPlanner, pool: str, held: Held, seed: int, folder: Path
) -> dict[str, Any]:
    """Return the figures of a conductor that is fitted in `folder`, and stays there."""
    if not (folder / FITTED).exists():
        write_job(planner, pool, held, seed, folder)
        command = [TRAINER, "-m", "bench.conductor_fit", str(folder)]
        limits = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=ROOT, env={**os.environ, **limits}, check=True)
    replies = json.loads((folder / f"{HELD}.replies.json").read_text())
    pools = [_as_numbered(planner, *each) for each in _asked(held)]
    fitted = json.loads((folder / FITTED).read_text())
    return {**reply_figures(replies, Held(held.tasks, pools)), "fit": fitted}


def write_job(
    planner: LightPlanner, pool: str, held: Held, seed: int, folder: Path
) -> None:
    """Write what the training environment is to do."""
    course = COURSES[pool]
    settings = {
        "tiny": {"seed": seed},
        "sft": {**course.sft, "seed": seed},
        "held_out": [HELD],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings))
    taught = examples(planner, pool, course.examples, seed)
    asked = {task.question for task in held.tasks}
    lines = [json.dumps(asdict(e)) for question, e in taught if question not in asked]
    (folder / "examples.jsonl").write_text("\n".join(lines))
    prompts = [brief_prompt(planner, request(*each)) for each in _asked(held)]
    (folder / f"{HELD}.json").write_text(json.dumps(prompts))


def _asked(held: Held) -> Iterator[tuple[str, Sequence[BenchWorker]]]:
    questions = (task.question for task in held.tasks)
    return zip(questions, held.pools, strict=True)


def _as_numbered(
    planner: LightPlanner, question: str, pool: Sequence[BenchWorker]
) -> list[BenchWorker]:
    """Return the workers by the numbers that a prompt gives them."""
    by_name = {worker.name: worker for worker in pool}
    return [
        by_name[name] for name in numbered(planner, request(question, pool)).pool.names
    ]


def examples(
    planner: LightPlanner, pool: str, count: int, seed: int
) -> Iterator[tuple[str, ExpertExample]]:
    """Yield questions, each with its example."""
    chance = random.Random(f"parts of pools {seed}")  # nosec B311
    for task in tasks(count, QUESTIONS + seed):
        workers = request(task.question, ROSTER).pool
        if pool != "fixed":
            workers = part_of(workers, chance)
        yield task.question, expert_example(planner, task.question, workers, MAX_STEPS)


if __name__ == "__main__":
    main()
