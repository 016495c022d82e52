"""A plan near the best one in its place: which may be drawn, and what is said."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from apps.engine.conduct import conduct
from apps.engine.events import PlanAccepted, PolicyDecided
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlanPreview
from apps.engine.ports import PlanRequest, Pool, Rejection, Task
from apps.engine.testing import make_ports, run_virtual
from apps.planners.cascade import PlannerCascade
from apps.planners.light.exploring import (
    EXPLORED,
    MOST_COST,
    MOST_LOSS,
    NEAR_BEST,
    drawn,
    near_best,
    place_words,
)
from apps.planners.light.planner import RANKED, LightPlanner
from apps.planners.light.search import PlanCandidate
from apps.planners.light.templates import ONE
from tests.engine.test_gate import ScriptedGate, decided, of
from tests.planners.builders import unasked
from tests.planners.light.builders import asked, model, worker

POOL = [worker("ada"), worker("ben"), worker("cat")]
EQUALS = LightPlanner(model(), 7, answer_worth_micros=math.inf)
"""Nothing is known of its workers: all plans are as good as each other."""
SEEDS = [f"run {number}" for number in range(200)]


def candidate(success: float, cost: float = 100.0, place: int = 0) -> PlanCandidate:
    return PlanCandidate(ONE, (place,), success, cost, success)


async def tried(seed: str, request: PlanRequest | None = None) -> Plan:
    plan = await EQUALS.exploring(seed).plan(request or asked(*POOL), unasked)
    assert plan is not None
    return plan


def why(plan: Plan):
    return json.loads(plan.explanation)


def test_what_loses_little_and_costs_little_more_is_near():
    best = candidate(0.9)
    ranked = [
        best,
        candidate(0.9, 200.0),
        candidate(0.9, 200.1),
        candidate(0.9 - MOST_LOSS),
        candidate(0.84),
        candidate(0.95, 20.0),
    ]
    assert near_best(ranked) == [best, ranked[1], ranked[3], ranked[5]]


def test_it_is_one_of_the_eight_best():
    ranked = [candidate(0.9, place=place) for place in range(16)]
    assert near_best(ranked) == ranked[:NEAR_BEST]


def test_a_seed_draws_the_same_each_time_and_all_are_drawn():
    left = [candidate(0.9, place=place) for place in range(NEAR_BEST)]
    first, second = ([drawn(seed, left) for seed in SEEDS] for _ in range(2))
    assert first == second
    counts = Counter(found.rank for found in first if found)
    assert set(counts) == set(range(2, NEAR_BEST + 1))
    assert min(counts.values()) > len(SEEDS) / NEAR_BEST / 2


def test_a_best_plan_without_company_is_not_replaced():
    assert drawn("any", [candidate(0.9)]) is None


@pytest.mark.parametrize(("rank", "words"), [(1, "1st"), (2, "2nd"), (3, "3rd")])
def test_ranks_in_words(rank, words):
    assert place_words(rank) == words
    assert place_words(rank + 10) == f"{rank + 10}th"


async def test_the_plan_says_that_it_was_explored():
    plan = await tried("a run")
    explored = why(plan)["explored"]
    assert plan.made_by == EXPLORED
    words = place_words(explored["rank"])
    assert f"the {words} best of {explored['of']} plans" in plan.reasoning
    best = await EQUALS.plan(asked(*POOL), unasked)
    assert best is not None
    assert explored["best"] == why(best)["chosen"] != why(plan)["chosen"]


async def test_without_a_seed_the_best_plan_is_used():
    plan = await EQUALS.plan(asked(*POOL), unasked)
    assert plan is not None
    assert (plan.made_by, why(plan)["explored"]) == ("", None)


async def test_no_drawn_plan_loses_or_costs_more_than_allowed():
    for seed in SEEDS:
        found = why(await tried(seed))
        best, chosen = found["explored"]["best"], found["chosen"]
        assert chosen["success"] >= best["success"] - MOST_LOSS
        assert chosen["cost_micros"] <= MOST_COST * best["cost_micros"]


async def test_what_is_not_free_is_never_drawn():
    async def without_cat(plan: Plan) -> PlanPreview:
        uses_cat = any(step.worker == "cat" for step in plan.steps)
        return "refused" if uses_cat else "accepted"

    everywhere: Counter[str] = Counter()
    allowed: Counter[str] = Counter()
    for seed in SEEDS:
        for request, counts in (
            (asked(*POOL), everywhere),
            (replace(asked(*POOL), preview=without_cat), allowed),
        ):
            plan = await tried(seed, request)
            counts.update({step.worker for step in plan.steps})
    assert everywhere["cat"]
    assert not allowed["cat"]
    assert allowed["ben"]


async def test_a_best_plan_that_is_not_free_is_proposed_all_the_same():
    best = await EQUALS.plan(asked(*POOL), unasked)
    assert best is not None

    async def not_the_best(plan: Plan) -> PlanPreview:
        return "held" if plan.digest == best.digest else "accepted"

    plan = await tried("a run", replace(asked(*POOL), preview=not_the_best))
    assert plan == best


async def test_after_a_refusal_it_explores_no_more():
    request = replace(asked(*POOL), rejections=(Rejection("", "no"),))
    assert (await tried("a run", request)).made_by == ""


class ChangingGate(ScriptedGate):
    """Refuses a worker of the first plan, once it has been looked at."""

    def __init__(self) -> None:
        super().__init__(plan=self._refuse)
        self.refused = ""

    async def preview_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        return decided("plan", [self.refused]) if self.refused else None

    def _refuse(self, number: int, plan: Plan) -> PolicyDecided:
        self.refused = self.refused or plan.steps[-1].worker
        return decided("plan", [self.refused])


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_after_a_change_of_the_policy_the_best_plan_that_is_left_is_used(seed: str):
    request, gate = asked(*POOL), ChangingGate()
    ports: Any = make_ports(planner=EQUALS.exploring(seed), gate=gate)
    run_virtual(conduct(request.task, request.pool, ports, Limits()))
    (plan,) = of(ports, PlanAccepted)
    left = tuple(each for each in POOL if each.name != gate.refused)
    best, *_ = EQUALS.plans(request.task.prompt, Pool(left, left[0].name), 5, RANKED)
    assert (plan.planner, plan.explanation) == ("light", best.explanation)
    assert plan.workers == tuple(step.worker for step in best.steps)


async def test_a_cascade_explores_where_it_is_sure():
    class Sure:
        name = "sure"

        def __init__(self, seed: str = "") -> None:
            self.seed = seed

        async def is_unsure(self, request) -> bool:
            return False

        def exploring(self, seed: str) -> Sure:
            return Sure(seed)

        async def plan(self, request, ask) -> Plan:
            return Plan((), self.seed)

    cascade = PlannerCascade(Sure(), EQUALS).exploring("a run")
    plan = await cascade.plan(asked(*POOL), unasked)
    assert plan is not None
    assert plan.reasoning == "a run"


async def test_workers_that_left_the_pool_are_in_no_drawn_plan():
    request = replace(asked(*POOL), pool=Pool(tuple(POOL[:2]), "ada"))
    assert request.task == Task(request.task.prompt)
    for seed in SEEDS:
        plan = await tried(seed, request)
        assert {step.worker for step in plan.steps} <= {"ada", "ben"}
