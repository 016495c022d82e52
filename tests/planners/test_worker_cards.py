"""What a trained conductor reads of workers: measured digits, in the pool's order."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from apps.engine.ports import Pool, PoolWorker, Rejection
from apps.engine.usage import Price
from apps.planners.language_model import LanguageModelPlanner
from apps.planners.worker_cards import measured_cards, priced_cards
from tests.planners.builders import Conductor, request
from tests.planners.light.builders import SUM, model, run, step

REPLY = 'model_id = [1]\nsubtasks = ["a"]\naccess_list = [[]]'
POOL = Pool(
    (
        PoolWorker("ben", Price(5, 20)),
        PoolWorker("eve", Price(5, 9)),
        PoolWorker("ada"),
    ),
    fallback="ben",
)
RIGHT = [run(step("ada", grade=1.0)) for _ in range(50)]


async def prompt_of(cards, **changes) -> str:
    conductor = Conductor(REPLY)
    planner = LanguageModelPlanner(cards=cards)
    assert await planner.plan(request(SUM, pool=POOL, **changes), conductor.ask)
    (message,) = conductor.calls[0][0]
    assert message["role"] == "user"
    return str(message["content"])


async def test_each_worker_has_its_price_and_what_was_measured():
    text = await prompt_of(measured_cards(model(*RIGHT)))
    ben, eve, ada, steps = text.splitlines()[:4]
    assert ben.startswith("Model 0: price9 solve")
    assert eve == "Model 1: price4 not measured"
    assert ada.startswith("Model 2: price unknown solve9 guided")
    assert steps == "Steps: at most 5"
    assert SUM in text


async def test_cards_follow_the_order_of_the_pool():
    cards = measured_cards(model(*RIGHT))
    turned = replace(POOL, workers=POOL.workers[::-1])
    asked = request(SUM).task
    assert cards(asked, turned) == cards(asked, POOL)[::-1]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_the_order_of_the_pool_changes_neither_prompt_nor_plan(order):
    pool = replace(POOL, workers=tuple(POOL.workers[place] for place in order))
    cards = measured_cards(model(*RIGHT))
    conductor = Conductor(REPLY)
    planner = LanguageModelPlanner(cards=cards)
    plan = await planner.plan(request(SUM, pool=pool), conductor.ask)
    assert conductor.calls[0][0][0]["content"] == await prompt_of(cards)
    assert plan is not None
    assert plan.steps[0].worker == "eve"


async def test_without_a_light_planner_only_prices_are_known():
    text = await prompt_of(priced_cards)
    assert "Model 0: price9 not measured" in text


async def test_a_refused_plan_is_said_as_in_the_full_prompt():
    refused = (Rejection("no plan", "it has no lists"),)
    text = await prompt_of(priced_cards, rejections=refused)
    assert "it has no lists" in text


@pytest.mark.parametrize("values", [{"mode": "json_schema"}, {"uses_prefill": True}])
def test_brief_prompts_are_for_plain_lists(values):
    with pytest.raises(ValueError, match="cards"):
        LanguageModelPlanner(cards=priced_cards, **values)
