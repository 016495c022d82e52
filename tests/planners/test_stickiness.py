"""Keep or change: the arithmetic, and the light planner in a conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import PlanRequest, PoolWorker
from apps.engine.usage import Price
from apps.planners.cascade import PlannerCascade
from apps.planners.fixed import FIRST_ATTEMPT
from apps.planners.light.planner import LightPlanner
from apps.planners.stickiness import (
    CONDUCTOR_GAIN,
    LEAST_CACHED_TOKENS,
    WARM_S,
    Appraisal,
    Appraised,
    LastTurn,
    StickyPlanner,
    decide,
)
from tests.planners.builders import unasked
from tests.planners.light.builders import (
    PLAN,
    SOLVE,
    asked,
    model,
    refused,
    run,
    step,
)

SOME_RUNS = [run(step("ada", SOLVE, [], 1)), run(step("ben", SOLVE, [], 1))] * 100
ADA_IS_BETTER = [*SOME_RUNS, run(step("ben", SOLVE, [], 0))]
ADA_IS_FAR_BETTER = [*SOME_RUNS, *[run(step("ben", SOLVE, [], 0))] * 100]
CACHED = Price(1_000_000, 1_000_000, 100_000)
POOL = [PoolWorker(name, CACHED) for name in ("ada", "ben")]
LONG = "Compute 12 * 3. " * 2_000
TOKENS = len(LONG) // 4


def turn(*workers: str, **more: Any) -> LastTurn:
    steps = tuple(PlannedStep(FIRST_ATTEMPT, worker) for worker in workers)
    return LastTurn(steps, **{"shared_tokens": TOKENS, "age_s": 60.0, **more})


async def planned(
    runs: list[Any], last: LastTurn, request: PlanRequest | None = None
) -> Plan:
    planner = StickyPlanner(LightPlanner(model(*runs), 7), last)
    plan = await planner.plan(request or asked(*POOL, prompt=LONG), unasked)
    assert plan is not None
    return plan


def workers_of(plan: Plan) -> list[str]:
    return [each.worker for each in plan.steps]


async def test_a_little_more_success_is_not_worth_the_cache():
    plan = await planned(ADA_IS_BETTER, turn("ben"))
    assert (workers_of(plan), plan.stickiness) == (["ben"], "kept")
    assert "ada is expected to be right" in plan.stickiness_reason
    assert plan.explanation == ""  # it would be that of another plan


async def test_much_more_success_is_worth_it():
    plan = await planned(ADA_IS_FAR_BETTER, turn("ben"))
    assert (workers_of(plan), plan.stickiness) == (["ada"], "changed")
    assert plan.explanation


@pytest.mark.parametrize(
    "last",
    [
        turn("ben", age_s=WARM_S + 1),
        turn("ben", shared_tokens=LEAST_CACHED_TOKENS - 1),
    ],
)
async def test_a_cache_that_is_gone_or_too_short_keeps_nobody(last):
    assert (await planned(ADA_IS_BETTER, last)).stickiness == "changed"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (turn("cat"), "cat may not be used"),
        (turn("ben", resting=frozenset({"ben"})), "not called at the moment"),
    ],
)
async def test_a_worker_that_is_out_is_never_kept(last, words):
    plan = await planned(ADA_IS_BETTER, last)
    assert plan.stickiness == "changed" and words in plan.stickiness_reason


async def test_a_worker_that_takes_no_tools_is_not_kept_for_them():
    pool = [POOL[0], replace(POOL[1], accepts_tools=False)]
    plan = await planned(ADA_IS_BETTER, turn("ben"), asked(*pool, prompt=LONG, tools=1))
    assert workers_of(plan) == ["ada"] and "calls no tools" in plan.stickiness_reason


async def test_a_plan_that_a_policy_refuses_is_not_kept():
    kept = Plan((PlannedStep(FIRST_ATTEMPT, "ben"),))
    request = refused(asked(*POOL, prompt=LONG), kept)
    request = replace(request, rejections=())
    plan = await planned(ADA_IS_BETTER, turn("ben"), request)
    assert plan.stickiness_reason == "a policy stands against ben"


async def test_after_a_refusal_the_planner_decides_alone():
    request = refused(asked(*POOL, prompt=LONG), Plan(()))
    plan = await planned(ADA_IS_BETTER, turn("ben"), request)
    assert (workers_of(plan), plan.stickiness) == (["ada"], "")


async def test_a_plan_of_several_steps_is_kept_as_a_whole():
    runs = [run(step("ben", PLAN), step("ada", SOLVE, [0], 1))] * 40
    runs += [run(step("ada", SOLVE, [], 0)), run(step("ben", SOLVE, [], 0))] * 40
    first = await LightPlanner(model(*runs), 7).plan(asked(*POOL, prompt=LONG), unasked)
    assert first is not None and len(first.steps) > 1
    rival = [*runs, *[run(step("ada", PLAN), step("ben", SOLVE, [0], 1))] * 60]
    plan = await planned(rival, LastTurn(first.steps, TOKENS, 60.0))
    assert (plan.steps, plan.stickiness) == (first.steps, "kept")


async def test_a_cascade_asks_what_the_light_planner_expects():
    class Conductor:
        name = "language_model"

        async def plan(self, request: PlanRequest, ask: Any) -> Plan:
            return Plan((PlannedStep("Compute it.", "ada"),), "because")

    def cascade(runs: list[Any]) -> PlannerCascade:
        # Nothing is known of such prompts, so the conductor is asked.
        return PlannerCascade(LightPlanner(model(*runs), 7), Conductor())

    request = asked(*POOL, prompt=f"{LONG} Zwölf Boxkämpfer jagen Viktor.")
    few = [run(step("ada", SOLVE, [], 1)), run(step("ben", SOLVE, [], 1))]
    plan = await StickyPlanner(cascade(few), turn("ben")).plan(request, unasked)
    assert plan is not None and workers_of(plan) == ["ben"]
    assert "is expected to be right" in plan.stickiness_reason
    assert plan.reasoning == "because"


# --- the arithmetic -------------------------------------------------------------------

COSTS = st.floats(0, 1e9)
SHARES = st.floats(0, 1)
WORTH = st.floats(1, 1e12)


@given(success=SHARES, cost=COSTS, saves=COSTS, worth=WORTH)
def test_of_equal_plans_the_last_one_is_kept(success, cost, saves, worth):
    each = Appraisal(success, cost)
    assert decide(Appraised(each, each, worth), saves, 0.0).is_kept


@given(
    last=st.builds(Appraisal, SHARES, COSTS),
    new=st.builds(Appraisal, SHARES, COSTS),
    saves=COSTS,
    more=COSTS,
    worth=WORTH,
)
def test_a_cache_that_saves_more_never_makes_a_change(last, new, saves, more, worth):
    appraised = Appraised(last, new, worth)
    if decide(appraised, saves, 0.0).is_kept:
        assert decide(appraised, saves + more, 0.0).is_kept


@given(
    cheap=COSTS,
    dear=COSTS,
    saves=COSTS,
    worth=WORTH,
)
def test_a_conductor_is_overruled_for_the_cache_alone(cheap, dear, saves, worth):
    appraised = Appraised(Appraisal(None, cheap), Appraisal(None, dear), worth)
    decision = decide(appraised, saves, 0.0)
    assert decision.lost_micros <= saves
    assert decision.is_kept == (CONDUCTOR_GAIN * worth <= decision.lost_micros)
