"""Makes the conductor that ships: examples of many light planners, a fit, a file.

    python -m bench.tiny_conductor_fit FOLDER [--out FILE]

FOLDER keeps examples, settings and the model; what is there is not made again. The fit
needs the training environment (`TRAINER_PYTHON`); it took four minutes on one thread.

Each light planner has logged runs of its own, so no card is always the same. Some
prompts show workers that are not measured. Where some are, the plans do without them;
where none is measured, the plans are those of a planner that knows them all. So the
conductor has memorized the workers of the benchmark, as far as their prices tell them
apart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.planners.worker_cards import priced_cards
from apps.simulator.benchmark.workers import ROSTERS
from apps.simulator.tiny_conductor.pack import packed
from apps.simulator.tiny_conductor.serving import SHIPPED
from apps.training.conductor.examples import ExpertExample, expert_example, part_of
from bench.conductor_learning import FITTED, TRAINER
from bench.figures import say
from bench.learning import learned
from bench.learning_scores import held_out
from bench.learning_world import MAX_STEPS, request, tasks
from bench.servers import ROOT

ROSTER = ROSTERS["strong"]
PLANNERS = 32
FIRST_SEED = 10_000
"""Of the planners, whose questions and runs those of reported figures share none of."""
RUNS = (800, 1_600, 2_500, 5_000)
"""Logged runs of a planner, in turn."""
PROMPTS = 1_500
"""Of each planner."""
KINDS = {"measured": 74, "partly measured": 14, "not measured": 12}
"""Percent of the prompts."""
WHOLE = 0.5
"""Share of the prompts that are about all workers."""
FEWEST_MEASURED = 2
MOST_STEPS, OTHER_STEPS = 8, 0.15
"""Share of the prompts that allow another number of steps than most tiers."""
SETTINGS = {
    "tiny": {"hidden": 128, "layers": 2, "vocabulary": 768, "seed": 0},
    "sft": {
        "steps": 2_000,
        "learning_rate": 3e-3,
        "batch": 8,
        "micro_batch": 8,
        "group": 2,
        "seed": 0,
    },
    "held_out": [],
}


def main() -> None:
    """Write the file, and what it comes from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=SHIPPED)
    args = parser.parse_args()
    folder = args.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    write_examples(folder / "examples.jsonl")
    fit(folder)
    args.out.write_bytes(packed(folder / "model"))


def write_examples(path: Path) -> None:
    """Write all examples in an order by chance, unless the file is there."""
    if path.exists():
        return
    lines = []
    for number in range(PLANNERS):
        seed, runs = FIRST_SEED + number, RUNS[number % len(RUNS)]
        model = learned(ROSTER, runs, seed).model
        lines += [json.dumps(asdict(each)) for each in examples(model, seed)]
        say(f"  planner {number + 1} of {PLANNERS}: {len(lines):,} examples")
    random.Random("order of examples").shuffle(lines)  # nosec B311
    path.write_text("\n".join(lines))


def fit(folder: Path) -> None:
    """Fit the model in a process of the training environment, unless it is there."""
    if (folder / FITTED).exists():
        return
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    command = [TRAINER, "-m", "bench.conductor_fit", str(folder)]
    limits = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env={**os.environ, **limits}, check=True)


def examples(model: LightModel, seed: int) -> Iterator[ExpertExample]:
    """Yield the examples of one planner."""
    chance = random.Random(f"tiny conductor {seed}")  # nosec B311
    asked = {task.question for task in held_out(ROSTER, "fixed").tasks}
    for task in tasks(PROMPTS, seed):
        example = _example(model, task.question, chance)
        if task.question not in asked and example.completions:
            yield example


def _example(model: LightModel, question: str, chance: random.Random) -> ExpertExample:
    (kind,) = chance.choices([*KINDS], [*KINDS.values()])
    pool = request(question, ROSTER).pool
    if chance.random() >= WHOLE:
        pool = part_of(pool, chance)
    if kind == "partly measured":
        most = len(pool.names) - FEWEST_MEASURED
        unknown = chance.sample(pool.names, chance.randint(1, most))
        names = (f"not {n}" if n in unknown else n for n in model.workers)
        model = replace(model, workers=tuple(names))
    steps = MAX_STEPS
    if chance.random() < OTHER_STEPS:
        steps = chance.randint(1, MOST_STEPS)
    cards = priced_cards if kind == "not measured" else None
    return expert_example(LightPlanner(model, 1), question, pool, steps, cards)


if __name__ == "__main__":
    main()
