"""Expected scores on the suite of a use case, exactly: nothing is measured.

A system's score in a family is what its plan is expected to score there, summed over
everything that may happen. A worker that the policy refuses for a family answers
nothing; if a plan names it, the fallback worker answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apps.simulator.benchmark.expectations import (
    MAX_PROPOSERS,
    BenchPlan,
    BenchStep,
    alone,
    expected_score,
    mixture,
    self_reflection,
)
from apps.simulator.benchmark.tasks import BenchTask
from apps.simulator.benchmark.workers import BenchWorker
from apps.simulator.briefing import Briefing, Earlier
from apps.simulator.cases.suite import case_tasks
from apps.simulator.cases.use_case import UseCase
from apps.simulator.conductor import SimulatedStep, plan
from apps.simulator.conductor_prompt import ConductorTask, ListedModel

TURNS = 5
SIMULATOR_SEED = 0
"""The one that the simulator has by default."""
Planned = Callable[[BenchTask], BenchPlan]


def case_figures(case: UseCase) -> str:
    """Return the expected scores of all systems as a table in Markdown."""
    families = case.families
    heads = " | ".join(family.replace("_", " ") for family in families)
    lines = [
        f"| expected, simulated | {heads} | mean |",
        "|---|" + "---|" * (len(families) + 1),
    ]
    for name, scores in case_scores(case).items():
        found = [scores[family] for family in families]
        cells = [f"{score:.2f}" for score in (*found, sum(found) / len(found))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def case_scores(case: UseCase) -> dict[str, dict[str, float]]:
    """Return the expected score of each system on the held-out tasks of each family."""
    held_out = [task for task, split in case_tasks(case) if split == "held_out"]
    return {
        name: {
            family: _mean(case, planned, [t for t in held_out if t.family == family])
            for family in case.families
        }
        for name, planned in _systems(case).items()
    }


def _mean(case: UseCase, planned: Planned, tasks: list[BenchTask]) -> float:
    scores = [_score(case, planned(task), task.family) for task in tasks]
    return sum(scores) / len(scores)


def _score(case: UseCase, made: BenchPlan, family: str) -> float:
    refused = case.refused.get(family, frozenset())
    if any(step.worker.name in refused for step in made):
        if len(made) == 1:
            return 0.0
        made = alone(next(w for w in case.workers if w.name == case.fallback))
    return expected_score(made, family)


def _systems(case: UseCase) -> Mapping[str, Planned]:
    """Return the plan of each system for a task, by the label that reports have."""
    best = best_worker(case)
    others = [worker for worker in case.workers if worker is not best]
    proposers = others[:MAX_PROPOSERS]
    names = ", ".join(worker.name for worker in proposers)
    fixed = {
        **{worker.name: alone(worker) for worker in case.workers},
        f"self-reflection × {TURNS} ({best.name})": self_reflection(best, TURNS),
        f"mixture of agents ({names} → {best.name})": mixture(proposers, best),
    }
    return {
        "conductor (ultra)": lambda task: conducted(case, task),
        **{name: _always(made) for name, made in fixed.items()},
        "best worker per family": lambda task: alone(best_worker(case, task.family)),
    }


def _always(made: BenchPlan) -> Planned:
    return lambda _task: made


def best_worker(case: UseCase, *families: str) -> BenchWorker:
    """Return who is expected to be right most often in some families, or in all."""

    def total(worker: BenchWorker) -> float:
        asked = families or case.families
        return sum(_score(case, alone(worker), family) for family in asked)

    return max(case.workers, key=total)


def conducted(case: UseCase, task: BenchTask) -> BenchPlan:
    """Return the plan that the conductor of a use case makes for a task."""
    refused = case.refused.get(task.family, frozenset())
    workers = [worker for worker in case.workers if worker.name not in refused]
    models = tuple(
        ListedModel(place, worker.description) for place, worker in enumerate(workers)
    )
    asked = ConductorTask(task.question, models)
    steps = plan(asked, SIMULATOR_SEED, case.shaped).steps
    return tuple(
        _bench_step(workers[step.model], step, place)
        for place, step in enumerate(steps)
    )


def _bench_step(worker: BenchWorker, step: SimulatedStep, place: int) -> BenchStep:
    access = tuple(range(place)) if step.access == "all" else tuple(step.access)
    earlier = tuple(Earlier(agent, "", "") for agent in access)
    return BenchStep(worker, Briefing("", step.subtask, earlier).role, access)
