"""Expert examples: what a conductor is asked, and what a light planner would say."""

from __future__ import annotations

import random

from apps.engine.plan import validate
from apps.engine.ports import PlanRequest, Pool, PoolWorker, Task
from apps.engine.usage import Price
from apps.planners.language_model import LanguageModelPlanner
from apps.planners.light.logged_runs import role_of_subtask
from apps.planners.light.planner import LightPlanner
from apps.planners.list_plan_parser import parse_lists
from apps.planners.worker_cards import measured_cards, priced_cards
from apps.training.conductor.examples import expert_example, part_of
from tests.planners.builders import Conductor
from tests.planners.light.builders import CHECK, SUM, model, run, step

LEARNED = model(
    *(
        run(step("ada", grade=0.0), step("ben", CHECK, (0,), grade=1.0))
        for _ in range(50)
    )
)
PLANNER = LightPlanner(LEARNED, version=1)
POOL = Pool(
    tuple(PoolWorker(name, Price(2, 8)) for name in ("cat", "ben", "ada")),
    fallback="cat",
    substitutes=("ben",),
)


async def test_the_prompt_is_what_a_run_asks():
    example = expert_example(PLANNER, SUM, POOL, 5)
    conductor = Conductor(example.completions[0])
    asked = PlanRequest(Task(SUM), POOL, 5)
    await LanguageModelPlanner(cards=measured_cards(LEARNED)).plan(asked, conductor.ask)
    assert conductor.calls[0][0] == ({"role": "user", "content": example.prompt},)


def test_the_first_reply_is_the_best_plan_for_the_order_of_the_pool():
    best = PLANNER.plans(SUM, POOL, 5, 1)[0]
    for pool in (POOL, part_of(POOL, random.Random(1), least=3)):
        example = expert_example(PLANNER, SUM, pool, 5)
        plan = parse_lists(example.completions[0], example.workers)
        assert plan is not None
        validate(plan, workers=pool.names, max_steps=5)
        assert [(s.worker, s.access) for s in plan.steps] == [
            (s.worker, s.access) for s in best.steps
        ]
        roles = [role_of_subtask(s.subtask, s.access) for s in plan.steps]
        assert roles == [role_of_subtask(s.subtask, s.access) for s in best.steps]


def test_cards_may_hide_what_the_planner_knows():
    best = PLANNER.plans(SUM, POOL, 5, 1)[0]
    example = expert_example(PLANNER, SUM, POOL, 5, priced_cards)
    assert example.prompt.count("not measured") == len(POOL.names)
    plan = parse_lists(example.completions[0], example.workers)
    assert plan is not None
    assert [step.worker for step in plan.steps] == [step.worker for step in best.steps]


def test_replies_keep_to_the_limit_of_steps():
    for reply in expert_example(PLANNER, SUM, POOL, 1).completions:
        plan = parse_lists(reply, POOL.names)
        assert plan is not None
        assert len(plan.steps) == 1


def test_a_pool_that_the_planner_does_not_know_gives_no_reply():
    strangers = Pool((PoolWorker("dan"),), fallback="dan")
    assert expert_example(PLANNER, SUM, strangers, 5).completions == ()


def test_parts_of_a_pool_have_all_sizes_and_orders():
    chance = random.Random(0)
    parts = [part_of(POOL, chance, least=2) for _ in range(300)]
    assert {len(part.names) for part in parts} == {2, 3}
    assert len({part.names for part in parts}) == 12
    assert all(part.fallback in part.names and not part.substitutes for part in parts)


def test_a_small_pool_is_only_put_in_another_order():
    part = part_of(POOL, random.Random(0), least=4)
    assert sorted(part.names) == sorted(POOL.names)
