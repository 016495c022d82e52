"""What a right answer is worth: one worker's price moves no other plan."""

from __future__ import annotations

import json
import math

import pytest

from apps.engine.usage import Price
from apps.planners.answer_worth import MOST_MICROS, worth_in_force
from apps.planners.light.planner import LightPlanner
from apps.planners.light.usual_worth import usual_worth
from tests.planners.builders import unasked
from tests.planners.light.builders import SOLVE, SUM, asked, model, run, step, worker

WORTH = 5_000.0
"""25 answers of a worker at a dollar for a million tokens, and a prompt of any sort."""
ALMOST_AS_GOOD = model(
    *[run(step("ada", SOLVE, [], 1))] * 60,
    *[run(step("ben", SOLVE, [], 1))] * 57,
    *[run(step("ben", SOLVE, [], 0))] * 3,
    *[run(step("cat", SOLVE, [], 0))] * 60,
)


def first(planner: LightPlanner, *pool):
    found = planner.ranking(asked(*pool, max_steps=1)).candidates[0]
    return pool[found.workers[0]].name, found.cost_micros


def test_a_worker_50_times_dearer_is_left_for_another_and_the_bill_stays():
    planner = LightPlanner(ALMOST_AS_GOOD, 1, WORTH)
    others = (worker("ben"), worker("cat"))
    before, bill = first(planner, worker("ada"), *others)
    after, later = first(planner, worker("ada", 50_000_000), *others)
    assert (before, after) == ("ada", "ben")
    assert later == pytest.approx(bill)


def test_a_dear_worker_beside_the_others_leaves_their_plans_as_they_were():
    planner = LightPlanner(ALMOST_AS_GOOD, 1, WORTH)
    pool = (worker("ada", 2_000_000), worker("ben", 500_000))
    dear = worker("cat", 80_000_000)
    alone = planner.ranking(asked(*pool)).candidates
    beside = planner.ranking(asked(*pool, dear)).candidates
    without = [each for each in beside if 2 not in each.workers]
    assert [each.value for each in without] == [
        each.value for each in alone[: len(without)]
    ]


def test_without_a_worth_so_many_answers_of_the_dearest_worker_are_it():
    pool = (worker("ada"), worker("ben", 3_000_000))
    ranking = LightPlanner(ALMOST_AS_GOOD, 1).ranking(asked(*pool))
    dearest = next(each for each in ranking.alone if each.workers == (1,))
    assert ranking.worth_micros == pytest.approx(25 * dearest.cost_micros)


async def test_an_explanation_says_what_a_right_answer_is_worth():
    plan = await LightPlanner(ALMOST_AS_GOOD, 1, WORTH).plan(
        asked(worker("ada")), unasked
    )
    assert plan is not None
    assert json.loads(plan.explanation)["answer_worth_micros"] == 5_000
    assert "A right answer is worth $0.005000." in plan.reasoning


async def test_an_explanation_says_when_cost_did_not_count():
    plan = await LightPlanner(ALMOST_AS_GOOD, 1, math.inf).plan(
        asked(worker("ada")), unasked
    )
    assert plan is not None
    assert json.loads(plan.explanation)["answer_worth_micros"] is None
    assert "worth" not in plan.reasoning


@pytest.mark.parametrize(
    ("said", "in_force"),
    [
        ((None, None), None),
        ((None, 300), 300.0),
        ((20, 300), 20.0),
        ((MOST_MICROS, 300), math.inf),
    ],
)
def test_what_a_tier_says_counts_before_what_the_version_says(said, in_force):
    assert worth_in_force(*said) == in_force


def test_the_usual_worth_is_that_of_25_answers_of_the_dearest_worker():
    prices = {"ada": Price(1_000_000, 1_000_000), "ben": Price(2_000_000, 2_000_000)}
    ranking = LightPlanner(ALMOST_AS_GOOD, 1).ranking(
        asked(worker("ada"), worker("ben", 2_000_000))
    )
    assert usual_worth(ALMOST_AS_GOOD, prices, [SUM] * 3) == round(ranking.worth_micros)


def test_without_a_price_there_is_no_usual_worth():
    assert usual_worth(ALMOST_AS_GOOD, {}, [SUM]) is None


def test_where_everything_is_free_cost_does_not_count():
    free = {"ada": Price(0, 0)}
    assert usual_worth(ALMOST_AS_GOOD, free, [SUM]) == MOST_MICROS
