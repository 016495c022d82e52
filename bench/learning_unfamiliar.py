"""How well the light planner tells prompts unlike what it learned from, by 20 fits.

    python -m bench.learning_unfamiliar ../shared/data/mmlu_pro/questions.parquet

Known prompts are held-out tasks of the simulated benchmark, as they are and in other
words. Foreign ones are questions of MMLU-Pro (Wang et al., arXiv 2406.01574), which are
read from the file that is named and stay there.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from apps.evaluation.suites.parquet import parquet_rows
from apps.planners.light.model import FAMILIAR, LightModel
from apps.simulator.benchmark.workers import ROSTERS
from apps.training.fitting.light import fit_light
from bench.learning_rewording import reworded
from bench.learning_scores import held_out, planned
from bench.learning_world import explored

SEEDS = range(20)
RUNS = (300, 2_000)
FOREIGN = 1_500
"""Questions of each fit."""
Judge = Callable[[LightModel, str], bool]


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path)
    rows = parquet_rows(parser.parse_args().questions.read_bytes())
    questions = [row["question"] for _, row in rows if not isinstance(row, str)]
    for runs in RUNS:
        _measure(runs, questions)


def _measure(runs: int, questions: Sequence[str]) -> None:
    roster = ROSTERS["strong"]
    names = [worker.name for worker in roster]
    shares: dict[str, list[float]] = {}
    for seed in SEEDS:
        model = fit_light(list(explored(runs, seed, roster)), names).model
        held = held_out(roster, "fixed", 10_000 + seed)
        known = [task.question for task in held.tasks]
        chosen = random.Random(f"foreign {seed}").sample(questions, FOREIGN)  # nosec B311
        for sort, prompts in (
            ("known", known),
            ("in other words", [reworded(prompt) for prompt in known]),
            ("foreign", chosen),
        ):
            for rule, judge in RULES.items():
                share = statistics.fmean(not judge(model, each) for each in prompts)
                shares.setdefault(f"{sort}, {rule}", []).append(share)
        for sort, wording in (("known", str), ("in other words", reworded)):
            figures = planned(model, held, wording)
            shares.setdefault(f"right, {sort}", []).append(figures["success"])
        shares.setdefault("plan, p95 in ms", []).append(figures["plan_ms"][1])
    print(f"{runs} runs; median (least to most) of {len(SEEDS)} fits")
    for name, found in shares.items():
        middle = statistics.median(found)
        print(f"  {name:34} {middle:.3f} ({min(found):.3f} to {max(found):.3f})")


def _by_ngrams(model: LightModel, prompt: str) -> bool:
    return model.placed(prompt)[1] >= FAMILIAR


def _by_both(model: LightModel, prompt: str) -> bool:
    return model.is_familiar(prompt, model.placed(prompt)[1])


RULES: dict[str, Judge] = {"n-grams alone": _by_ngrams, "and words": _by_both}

if __name__ == "__main__":
    main()
