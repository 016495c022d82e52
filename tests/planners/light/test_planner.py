"""The light planner: whom it chooses, what it says, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import validate
from apps.engine.ports import Message
from apps.planners.light.explanation import in_words
from apps.planners.light.logged_runs import StepRole
from apps.planners.light.planner import LightPlanner
from tests.planners.builders import unasked
from tests.planners.light.builders import (
    CHECK,
    PLAN,
    SOLVE,
    STORY,
    asked,
    model,
    refused,
    run,
    step,
    worker,
)

IMAGE: Message = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this? "},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ],
}
GOOD_AT_SUMS = [run(step("ada", SOLVE, [], 1))] * 40
BAD_AT_SUMS = [run(step("ben", SOLVE, [], 0)), run(step("cat", SOLVE, [], 0))] * 40
A_STORY_NEEDS_A_PLAN = [
    run(step("cat", PLAN), step("ben", SOLVE, [0], 1), prompt=STORY),
    run(step("ben", SOLVE, [], 0), prompt=STORY),
    run(step("ada", SOLVE, [], 0), prompt=STORY),
    run(step("cat", SOLVE, [], 0), prompt=STORY),
] * 40
KNOWN = model(*GOOD_AT_SUMS, *BAD_AT_SUMS, *A_STORY_NEEDS_A_PLAN)
POOL = [worker("ada"), worker("ben"), worker("cat")]


async def planned(request, planner=None):
    plan = await (planner or LightPlanner(KNOWN, 7)).plan(request, unasked)
    assert plan is not None
    return plan


def workers_of(plan):
    return [each.worker for each in plan.steps]


async def test_a_worker_that_is_always_right_answers_alone():
    assert workers_of(await planned(asked(*POOL))) == ["ada"]


async def test_another_kind_of_prompt_gets_another_plan():
    plan = await planned(asked(*POOL, prompt=STORY))
    assert workers_of(plan)[:2] == ["cat", "ben"]
    assert plan.steps[1].access == (0,)
    validate(plan, workers=("ada", "ben", "cat"), max_steps=5)


async def test_the_order_of_the_pool_changes_no_plan():
    for prompt in ("Compute 3 * 4.", STORY):
        plans = [
            await planned(asked(*pool, prompt=prompt)) for pool in (POOL, POOL[::-1])
        ]
        assert plans[0].digest == plans[1].digest


async def test_workers_that_it_does_not_know_get_no_step():
    plan = await planned(asked(worker("zoe"), *POOL))
    assert workers_of(plan) == ["ada"]


async def test_without_a_known_worker_there_is_no_plan():
    with pytest.raises(PlanRejected) as caught:
        await planned(asked(worker("zoe")))
    assert caught.value.fault is PlanFault.EMPTY_PLAN


async def test_a_worker_without_tools_never_has_the_last_step():
    blind = worker("ada", accepts_tools=False)
    for candidate in ranked(asked(blind, *POOL[1:], tools=1)):
        assert candidate[-1] != "ada"


async def test_a_worker_without_images_has_no_step_at_all():
    pool = [worker("ada"), worker("ben", accepts_images=True)]
    for candidate in ranked(asked(*pool, messages=(IMAGE,))):
        assert set(candidate) == {"ben"}


async def test_if_none_of_the_workers_may_answer_there_is_no_plan():
    with pytest.raises(PlanRejected):
        await planned(asked(*POOL, messages=(IMAGE,)))


def ranked(request):
    """Return the workers of each candidate by name."""
    ranking = LightPlanner(KNOWN, 7).ranking(request)
    assert ranking.candidates
    return [[ranking.workers[w] for w in each.workers] for each in ranking.candidates]


async def test_steps_are_no_more_than_allowed():
    plan = await planned(asked(*POOL, prompt=STORY, max_steps=1))
    assert len(plan.steps) == 1


async def test_an_unknown_price_counts_as_the_dearest():
    even = model()  # every worker is right half of the time
    pool = [worker("ada", None), worker("ben", 5_000_000), worker("cat", 1_000_000)]
    ranking = LightPlanner(even, 1).ranking(asked(*pool, max_steps=1))
    cost = {ranking.workers[c.workers[0]]: c.cost_micros for c in ranking.alone}
    assert cost["ada"] == pytest.approx(cost["ben"])
    assert ranking.workers[ranking.candidates[0].workers[0]] == "cat"


async def test_prices_that_are_all_unknown_cost_nothing():
    pool = [worker(each.name, None) for each in POOL]
    ranking = LightPlanner(KNOWN, 1).ranking(asked(*pool))
    assert {each.cost_micros for each in ranking.candidates} == {0.0}


async def test_a_refused_plan_gives_the_next_one():
    first = asked(*POOL)
    plans = [await planned(first)]
    for _ in range(2):
        plans.append(await planned(refused(first, *plans)))
    assert len({plan.digest for plan in plans}) == 3


async def test_after_the_last_plan_there_is_no_other():
    request = asked(worker("ada"), max_steps=1)
    only = await planned(request)
    with pytest.raises(PlanRejected):
        await planned(refused(request, only))


async def test_a_refusal_of_another_plan_takes_nothing_from_the_best_one():
    best = await planned(asked(*POOL))
    others = [await planned(asked(each, max_steps=1)) for each in POOL[1:]]
    assert await planned(refused(asked(*POOL), *others)) == best


async def test_an_answer_that_may_be_kept_is_kept():
    request = asked(*POOL)
    kept = replace(request, may_keep=True)
    assert await LightPlanner(KNOWN, 7).plan(kept, unasked) is None


# --- prompts unlike everything --------------------------------------------------------

STRANGE = "Übersetze: Der Zug fährt ab."


async def test_a_strange_prompt_goes_to_the_worker_that_is_best_over_all():
    """For stories, the nearest kind, a plan of cat and ben would be the choice."""
    request = asked(*POOL, prompt=STRANGE)
    plan = await planned(request)
    assert workers_of(plan) == ["ada"]
    said = json.loads(plan.explanation)
    assert said["is_familiar"] is False
    assert all(len(each["steps"]) == 1 for each in (said["chosen"], said["runner_up"]))
    assert plan.reasoning.startswith("The prompt is unlike everything")
    assert await LightPlanner(KNOWN, 7).is_unsure(request)
    familiar = await planned(asked(*POOL, prompt=STORY))
    assert json.loads(familiar.explanation)["is_familiar"] is True
    assert "unlike" not in familiar.reasoning


async def test_a_refused_plan_for_a_strange_prompt_gives_the_next_best_worker():
    request = asked(*POOL, prompt=STRANGE)
    plans = [await planned(request)]
    for _ in POOL[1:]:
        plans.append(await planned(refused(request, *plans)))
    assert workers_of(plans[0]) == ["ada"]
    assert sorted(workers_of(plan)[0] for plan in plans) == ["ada", "ben", "cat"]
    with pytest.raises(PlanRejected):
        await planned(refused(request, *plans))


# --- the explanation ------------------------------------------------------------------


async def test_a_plan_says_why_it_was_chosen():
    plan = await planned(asked(*POOL))
    said = json.loads(plan.explanation)
    assert (said["version"], said["kind"], said["kind_words"]) == (7, 0, "Compu")
    assert said["chosen"]["steps"] == [{"role": "solve", "worker": "ada"}]
    assert 0.9 < said["chosen"]["success"] < 1
    assert said["chosen"]["cost_micros"] > 0
    assert said["runner_up"]["steps"] != said["chosen"]["steps"]
    alone = [each["steps"][0]["worker"] for each in said["alone"]]
    assert alone[0] == "ada" and sorted(alone) == ["ada", "ben", "cat"]
    assert plan.reasoning == in_words(said)
    assert "ada (solve) is expected to be right" in plan.reasoning


async def test_a_cheaper_plan_is_shown_if_it_costs_half():
    pool = [worker("ada", 9_000_000), worker("ben", 100_000), worker("cat", 100_000)]
    said = json.loads((await planned(asked(*pool))).explanation)
    assert said["chosen"]["steps"][0]["worker"] == "ada"
    assert said["cheaper"]["cost_micros"] <= said["chosen"]["cost_micros"] / 2
    assert "at half the cost or less" in in_words(said)


async def test_without_a_cheaper_or_another_plan_none_is_shown():
    said = json.loads((await planned(asked(worker("ada"), max_steps=1))).explanation)
    assert said["runner_up"] is said["cheaper"] is None
    assert in_words(said).count(".") >= 1
    assert "Next best" not in in_words(said)


async def test_a_check_is_used_where_drafts_are_wrong():
    learned = model(
        *[run(step("ada", SOLVE, [], 0), step("ben", CHECK, [0], 1))] * 60,
        *[run(step("ben", SOLVE, [], 0))] * 60,
        *[run(step("cat", SOLVE, [], 0), step("ben", CHECK, [0], 0))] * 60,
        *[run(step("ada", SOLVE, [], 0), step("cat", CHECK, [0], 0))] * 60,
    )
    plan = await planned(asked(*POOL, max_steps=2), LightPlanner(learned, 1))
    assert workers_of(plan) == ["ada", "ben"]
    said = json.loads(plan.explanation)["chosen"]["steps"]
    assert [each["role"] for each in said] == [StepRole.SOLVE, StepRole.CHECK]
