"""The light planner on the demo's workers, for whose families nothing was chosen.

Their answers are really made and compared with the right ones; every question has draws
of its own. `python -m bench.learning_demo` prints a table.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from apps.engine.ports import PlanRequest, Pool, PoolWorker, Task
from apps.engine.usage import Price
from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.planners.light.planner import LightPlanner
from apps.planners.light.templates import ONE, SUBTASKS, TEMPLATES, Template
from apps.simulator import families
from apps.simulator.answers import answer, signed
from apps.simulator.benchmark.forms import CAPITALS, SYLLABLES
from apps.simulator.briefing import Briefing, Earlier
from apps.simulator.workers import WORKERS, SimulatedWorker
from apps.training.fitting.light import fit_light
from bench.learning_world import MAX_STEPS, MILLION, NEAR_BEST

RUNS, HELD_OUT, SEEDS = 2_000, 2_000, range(3)
CHARS_PER_TOKEN = 4
BY_NAME = {worker.name: worker for worker in WORKERS}
PROGRAMS = (
    "the nth Fibonacci number",
    "the factorial of n",
    "the greatest common divisor of two numbers",
    "whether a number is prime",
    "the sum of the digits of a number",
    "the number of vowels in a string",
)
WORDINGS: tuple[Callable[[random.Random], str], ...] = (
    lambda c: f"What is {c.randint(10, 99)} * {c.randint(10, 99)} + {c.randint(1, 9)}?",
    lambda c: (
        f"How many days are between 2024-0{c.randint(1, 4)}-{c.randint(10, 28)} and "
        f"2024-0{c.randint(5, 9)}-{c.randint(10, 28)}?"
    ),
    lambda c: f"Convert {c.randint(2, 999)} km to miles",
    lambda c: f"Reverse the word '{''.join(c.choices(SYLLABLES, k=4))}'",
    lambda c: f"What is the capital of {c.choice(sorted(CAPITALS))}?",
    lambda c: f"Write a Python function that returns {c.choice(PROGRAMS)}",
)
"""One for each family of the demo."""


@dataclass(frozen=True)
class Done:
    """What a plan led to."""

    run: LoggedRun
    is_right: bool
    cost_micros: float


def questions(count: int, seed: str) -> Iterator[str]:
    """Yield questions of random families, all of which the simulator can solve."""
    chance = random.Random(f"demo questions {seed}")  # nosec B311
    made = 0
    while made < count:
        asked = chance.choice(WORDINGS)(chance)
        if families.solve(asked):
            made += 1
            yield asked


def executed(
    question: str, template: Template, workers: Sequence[SimulatedWorker], seed: int
) -> Done:
    """Return what workers answer, with the draws of `seed`."""
    solution = families.solve(question)
    assert solution is not None
    earlier: list[Earlier] = []
    steps, cost = [], 0.0
    for number, (step, worker) in enumerate(zip(template, workers, strict=True)):
        subtask = SUBTASKS[step.role]
        seen = tuple(earlier[at] for at in step.access)
        given = answer(worker, Briefing(question, subtask, seen), seed)
        text = signed(given, worker.name)
        earlier.append(Earlier(number, subtask, text))
        read = len(question) + len(subtask) + sum(len(e.response) for e in seen)
        tokens = (read // CHARS_PER_TOKEN, len(text) // CHARS_PER_TOKEN)
        is_plan = step.role is StepRole.PLAN
        grade = None if is_plan else float(given.short == solution.right.answer)
        steps.append(LoggedStep(worker.name, step.role, step.access, grade, *tokens))
        price = (worker.input_micros, worker.output_micros)
        cost += sum(t * p for t, p in zip(tokens, price, strict=True)) / MILLION
    run = LoggedRun(question, tuple(steps))
    return Done(run, steps[-1].grade == 1, cost)


def planned(
    planner: LightPlanner, question: str, chance: random.Random | None = None
) -> tuple[Template, list[SimulatedWorker]]:
    """Return the best plan; with `chance`, one of the best ones."""
    pool = tuple(
        PoolWorker(w.name, Price(w.input_micros, w.output_micros)) for w in WORKERS
    )
    request = PlanRequest(Task(question), Pool(pool, pool[0].name), MAX_STEPS)
    ranking = planner.ranking(request, NEAR_BEST)
    found = ranking.candidates
    chosen = chance.choice(found) if chance else found[0]
    return chosen.template, [BY_NAME[ranking.workers[w]] for w in chosen.workers]


def learned(seed: int) -> LightPlanner:
    """Return what is learned of `RUNS` runs in two rounds."""
    chance = random.Random(f"demo runs {seed}")  # nosec B311
    names = [worker.name for worker in WORKERS]
    runs: list[LoggedRun] = []
    asked = list(questions(RUNS, f"logged {seed}"))
    for index, question in enumerate(asked[: RUNS // 2]):
        template = TEMPLATES[index % len(TEMPLATES)]
        workers = chance.sample(WORKERS, len(template))
        runs.append(executed(question, template, workers, chance.getrandbits(32)).run)
    first = LightPlanner(fit_light(runs, names).model, 1)
    for question in asked[RUNS // 2 :]:
        plan = planned(first, question, chance)
        runs.append(executed(question, *plan, chance.getrandbits(32)).run)
    return LightPlanner(fit_light(runs, names).model, 1)


def main() -> None:
    """Print the figures."""
    held = list(enumerate(questions(HELD_OUT, "held out")))
    rows = {
        worker.name: [executed(q, ONE, [worker], seed) for seed, q in held]
        for worker in WORKERS
    }
    for seed in SEEDS:
        planner = learned(seed)
        rows[f"light planner, seed {seed}"] = [
            executed(q, *planned(planner, q), draws) for draws, q in held
        ]
    print("| system | right | micro-dollars a question | steps |\n|---|---|---|---|")
    for name, done in rows.items():
        right = statistics.fmean(each.is_right for each in done)
        cost = statistics.fmean(each.cost_micros for each in done)
        steps = statistics.fmean(len(each.run.steps) for each in done)
        print(f"| {name} | {right:.3f} | {cost:,.0f} | {steps:.1f} |")


if __name__ == "__main__":
    main()
