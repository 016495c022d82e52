"""Expected scores of plans, exactly: summed over everything that may happen.

Besides the plans of the usual baselines there is the best plan of the usual shapes,
found by trying them all: the oracle, which knows the hidden skills.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from apps.simulator.benchmark.behavior import BenchOutcome, outcomes, role_of
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.planning import NEEDS, described
from apps.simulator.benchmark.workers import BENCH_WORKERS, BenchWorker
from apps.simulator.briefing import BriefingRole
from apps.simulator.chance import draw
from apps.simulator.conductor_prompt import ListedModel

MAX_STEPS = 6
"""Two outcomes for each step: the sum has at most 64 terms."""
MAX_PROPOSERS = 4
FAMILIES = tuple(TaskFamily)
SOLVE, PLAN, CHECK, COMBINE = (
    BriefingRole.SOLVE,
    BriefingRole.PLAN,
    BriefingRole.CHECK,
    BriefingRole.COMBINE,
)
SHAPES = (
    (SOLVE,),
    (PLAN, SOLVE),
    (SOLVE, CHECK),
    (PLAN, SOLVE, CHECK),
    (SOLVE, SOLVE, COMBINE),
)
"""What the oracle tries; only independent attempts read nothing."""


class BenchStep(NamedTuple):
    """One step of a plan for the benchmark."""

    worker: BenchWorker
    role: BriefingRole
    access: tuple[int, ...] = ()
    """Earlier steps whose responses it reads, counted from 0."""


BenchPlan = tuple[BenchStep, ...]
Roster = Sequence[BenchWorker]


class InvalidBenchPlan(ValueError):
    """The plan has no steps, too many, or reads a step that is not before."""


@lru_cache(maxsize=100_000)
def expected_score(plan: BenchPlan, family: str) -> float:
    """Return the probability that the last response of `plan` is right.

    Steps with the same worker, role and access get the same request, and so give the
    same response.

    Raises: InvalidBenchPlan.
    """
    if not 1 <= len(plan) <= MAX_STEPS:
        raise InvalidBenchPlan(f"steps: expected 1 to {MAX_STEPS}, got {len(plan)}")
    for index, step in enumerate(plan):
        if any(not 0 <= earlier < index for earlier in step.access):
            raise InvalidBenchPlan(f"access of step {index}: got {step.access}")
    return _share_right(tuple(map(_as_read, plan)), family, ())


def _as_read(step: BenchStep) -> BenchStep:
    """Return the step with the role that its request comes to."""
    return step._replace(role=role_of(step.role, sees_any=bool(step.access)))


def _share_right(plan: BenchPlan, family: str, done: tuple[BenchOutcome, ...]) -> float:
    index = len(done)
    if index == len(plan):
        return float(done[-1] is BenchOutcome.RIGHT)
    step = plan[index]
    if step in plan[:index]:
        return _share_right(plan, family, (*done, done[plan.index(step)]))
    seen = [done[earlier] for earlier in step.access]
    return sum(
        share * _share_right(plan, family, (*done, outcome))
        for share, outcome in outcomes(step.worker, family, step.role, seen)
        if share > 0
    )


def mean_score(plan: BenchPlan) -> float:
    """Return the expected score of one plan for all families, equally weighted."""
    return sum(expected_score(plan, f) for f in FAMILIES) / len(FAMILIES)


# --- plans by rule --------------------------------------------------------------------


def alone(worker: BenchWorker) -> BenchPlan:
    """Return the plan in which `worker` answers alone."""
    return (BenchStep(worker, SOLVE),)


def self_reflection(worker: BenchWorker, turns: int) -> BenchPlan:
    """Return the plan in which `worker` improves its own answer, `turns` calls."""
    checks = (BenchStep(worker, CHECK, tuple(range(turn))) for turn in range(1, turns))
    return (BenchStep(worker, SOLVE), *checks)


def mixture(proposers: Roster, aggregator: BenchWorker) -> BenchPlan:
    """Return the plan in which `aggregator` makes one answer of several."""
    proposals = (BenchStep(worker, SOLVE) for worker in proposers)
    return (*proposals, BenchStep(aggregator, COMBINE, tuple(range(len(proposers)))))


def delegated(
    planner: BenchWorker, family: TaskFamily, pool: Roster
) -> tuple[tuple[float, BenchPlan], ...]:
    """Return the plans that `planner` may write for a pool, with their probabilities.

    The pool's descriptions are shown to it; its order decides between equals.
    """
    models = [ListedModel(n, w.description) for n, w in enumerate(pool)]
    good = tuple(
        BenchStep(pool[described(models, words).id], role, tuple(range(place)))
        for place, (role, words) in enumerate(NEEDS[family])
    )
    missed = (1 - planner.planning) / len(pool)
    return ((planner.planning, good), *((missed, alone(worker)) for worker in pool))


def delegated_score(planner: BenchWorker, pool: Roster) -> float:
    """Return the expected score if `planner` plans, all families equally weighted."""
    return sum(
        share * expected_score(plan, family)
        for family in FAMILIES
        for share, plan in delegated(planner, family, pool)
    ) / len(FAMILIES)


def best_single(pool: Roster) -> BenchWorker:
    """Return the worker that is right most often over all families."""
    return max(_sorted(pool), key=lambda worker: mean_score(alone(worker)))


def best_for(family: TaskFamily, pool: Roster) -> BenchWorker:
    """Return the worker that is right most often in `family`."""
    return max(_sorted(pool), key=lambda worker: worker.solve[family])


def baselines(family: TaskFamily, pool: Roster) -> dict[str, BenchPlan]:
    """Return the plans that others are compared with, by name.

    All but the last two ignore the family. The order of `pool` changes nothing.
    """
    best = best_single(pool)
    others = [worker for worker in _sorted(pool) if worker is not best]
    return {
        "best single worker": alone(best),
        "Mixture-of-Agents": mixture(others[:MAX_PROPOSERS], best),
        "self-reflection x 5": self_reflection(best, 5),
        "best worker per family": alone(best_for(family, pool)),
        "oracle": oracle_plan(family, tuple(pool)),
    }


def oracle_plan(family: TaskFamily, pool: Roster) -> BenchPlan:
    """Return the plan of the usual shapes with the highest expected score.

    Of several the one with fewer steps, then the cheaper one.
    """
    return _oracle_plan(family, _sorted(pool))


@lru_cache(maxsize=1_000)
def _oracle_plan(family: TaskFamily, pool: tuple[BenchWorker, ...]) -> BenchPlan:
    return max(_candidates(pool), key=lambda plan: _rank(plan, family))


def _rank(plan: BenchPlan, family: TaskFamily) -> tuple[float, int, int]:
    score = round(expected_score(plan, family), 9)  # sums in another order are equal
    return score, -len(plan), -sum(step.worker.price for step in plan)


def _candidates(pool: tuple[BenchWorker, ...]) -> list[BenchPlan]:
    return [
        tuple(
            BenchStep(worker, role, _access(shape, index))
            for index, (worker, role) in enumerate(zip(chosen, shape, strict=True))
        )
        for shape in SHAPES
        for chosen in itertools.product(pool, repeat=len(shape))
    ]


def _access(shape: tuple[BriefingRole, ...], index: int) -> tuple[int, ...]:
    is_attempt = shape[index] is SOLVE and shape[0] is not PLAN
    return () if is_attempt else tuple(range(index))


def regret(plan: BenchPlan, family: TaskFamily, pool: Roster) -> float:
    """Return how far `plan` is below the oracle of `pool`, in expectation."""
    best = expected_score(oracle_plan(family, pool), family)
    return best - expected_score(plan, family)


# --- pools ----------------------------------------------------------------------------


def sub_pool(
    roster: Roster, seed: int, index: int, least: int = 4
) -> tuple[BenchWorker, ...]:
    """Return `least` or more workers of `roster` in another order.

    `index` counts the pools of one seed.  Raises: ValueError for too few workers.
    """
    if not 1 <= least <= len(roster):
        raise ValueError(f"least: expected 1 to {len(roster)}, got {least}")
    facts = ("sub-pool", str(index))
    count = least + int(draw(seed, *facts) * (len(roster) - least + 1))
    shuffled = sorted(roster, key=lambda worker: draw(seed, *facts, worker.name))
    return tuple(shuffled[:count])


def _sorted(pool: Roster) -> tuple[BenchWorker, ...]:
    """Return the pool in the order of the rosters, whatever order it has."""
    return tuple(sorted(pool, key=BENCH_WORKERS.index))
