"""Logged runs of the simulated benchmark, drawn without a server, and exact scores."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.engine.ports import PlanRequest, Pool, PoolWorker, Task
from apps.engine.usage import Price
from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.planners.light.planner import LightPlanner
from apps.planners.light.templates import TEMPLATES, Template
from apps.simulator import briefing
from apps.simulator.benchmark.behavior import DRAFTS, BenchOutcome, outcomes
from apps.simulator.benchmark.expectations import (
    BenchPlan,
    BenchStep,
    expected_score,
    sub_pool,
)
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.tasks import BenchTask, drawn_task
from apps.simulator.benchmark.workers import BenchWorker

FAMILIES = tuple(TaskFamily)
ROLES = {role: briefing.BriefingRole(role.value) for role in StepRole}
OUTPUT = {
    StepRole.PLAN: 80,
    StepRole.SOLVE: 120,
    StepRole.CHECK: 90,
    StepRole.COMBINE: 90,
}
"""Output tokens of a step, as in the benchmark's figures."""
INPUT, INPUT_A_RESPONSE = 60, 50
MILLION = 1_000_000
MAX_STEPS = 5
NEAR_BEST = 8
"""Plans that the second round draws from."""


class Asked(Protocol):
    """A question of a family."""

    @property
    def question(self) -> str:
        """Return its text."""

    @property
    def family(self) -> str:
        """Return what kind of question it is."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a plan comes to, exactly."""

    success: float
    steps: int
    tokens: int
    cost_micros: float


def tasks(count: int, seed: int) -> Iterator[BenchTask]:
    """Yield tasks of families drawn at random; questions may come again."""
    chance = random.Random(f"learning tasks {seed}")  # nosec B311
    made = 0
    for index in range(10 * count):
        if made == count:
            return
        if task := drawn_task(chance.choice(FAMILIES), seed, index):
            made += 1
            yield task


def bench_plan(template: Template, workers: Sequence[BenchWorker]) -> BenchPlan:
    """Return a template with workers as a plan of the benchmark."""
    return tuple(
        BenchStep(worker, ROLES[step.role], step.access)
        for step, worker in zip(template, workers, strict=True)
    )


def executed(
    chance: random.Random,
    task: Asked,
    template: Template,
    workers: Sequence[BenchWorker],
) -> LoggedRun:
    """Return the run of a plan, its answers drawn."""
    done: list[BenchOutcome] = []
    asked: dict[object, BenchOutcome] = {}
    steps = []
    for step, worker in zip(template, workers, strict=True):
        seen = [done[earlier] for earlier in step.access]
        drawn = outcomes(worker, task.family, ROLES[step.role], seen)
        shares, possible = zip(*drawn, strict=True)
        # Equal requests get equal responses.
        outcome = asked.setdefault((worker, step), chance.choices(possible, shares)[0])
        done.append(outcome)
        grade = float(outcome is BenchOutcome.RIGHT) if outcome in DRAFTS else None
        tokens = step_tokens(step.role, len(seen))
        steps.append(
            LoggedStep(worker.name, step.role, step.access, grade, tokens[0], tokens[1])
        )
    return LoggedRun(task.question, tuple(steps), family=task.family)


def explored(
    count: int, seed: int, roster: Sequence[BenchWorker]
) -> Iterator[LoggedRun]:
    """Yield runs of the templates in turn, their workers drawn uniformly."""
    chance = random.Random(f"exploration {seed}")  # nosec B311
    for index, task in enumerate(tasks(count, seed)):
        template = TEMPLATES[index % len(TEMPLATES)]
        yield executed(chance, task, template, _drawn(chance, template, roster))


def _drawn(
    chance: random.Random, template: Template, roster: Sequence[BenchWorker]
) -> list[BenchWorker]:
    """Return a worker for each step; answers to combine are of different ones."""
    if template[-1].role is StepRole.COMBINE:
        return [*chance.sample(roster, len(template) - 1), chance.choice(roster)]
    return [chance.choice(roster) for _ in template]


def request(question: str, workers: Sequence[BenchWorker]) -> PlanRequest:
    """Return what a planner gets to know of a question and a pool."""
    pool = tuple(
        PoolWorker(w.name, Price(w.input_micros, w.output_micros)) for w in workers
    )
    return PlanRequest(Task(question), Pool(pool, workers[0].name), MAX_STEPS)


def near_best(
    count: int, seed: int, roster: Sequence[BenchWorker], planner: LightPlanner
) -> Iterator[LoggedRun]:
    """Yield runs of one of the planner's best plans each, on random parts of a roster.

    They check what the planner believes.
    """
    chance = random.Random(f"near best {seed}")  # nosec B311
    for index, task in enumerate(tasks(count, seed)):
        pool = sub_pool(roster, seed, index)
        ranking = planner.ranking(request(task.question, pool), NEAR_BEST)
        chosen = chance.choice(ranking.candidates)
        by_name = {worker.name: worker for worker in roster}
        workers = [by_name[ranking.workers[place]] for place in chosen.workers]
        yield executed(chance, task, chosen.template, workers)


def scored(plan: BenchPlan, family: str) -> Score:
    """Return the exact figures of a plan."""
    tokens = [step_tokens(StepRole(step.role.value), len(step.access)) for step in plan]
    cost = sum(
        (read * step.worker.input_micros + written * step.worker.output_micros)
        / MILLION
        for step, (read, written) in zip(plan, tokens, strict=True)
    )
    return Score(expected_score(plan, family), len(plan), sum(map(sum, tokens)), cost)


def step_tokens(role: StepRole, seen: int) -> tuple[int, int]:
    """Return what a step reads and writes that sees so many responses."""
    return INPUT + INPUT_A_RESPONSE * seen, OUTPUT[role]
