"""Planners that need no model."""

import pytest

from apps.engine.plan import validate
from apps.engine.ports import Planner
from apps.planners.fixed import (
    MixtureOfAgentsPlanner,
    SamplesPlanner,
    SelfReflectionPlanner,
    SingleWorkerPlanner,
)
from tests.planners.builders import WORKERS, earlier_round, request, unasked

PLANNERS: dict[str, Planner] = {
    "single_worker": SingleWorkerPlanner("beta"),
    "self_reflection": SelfReflectionPlanner("beta", turns=3),
    "mixture_of_agents": MixtureOfAgentsPlanner(("alpha", "beta", "gamma"), "delta"),
    "samples": SamplesPlanner("beta", 3),
}
EACH = pytest.mark.parametrize("name", PLANNERS)


@EACH
async def test_the_first_round_has_a_valid_plan(name):
    plan = await PLANNERS[name].plan(request(), unasked)
    assert plan is not None
    validate(plan, workers=WORKERS, max_steps=5)


@EACH
async def test_later_rounds_keep_the_answer(name):
    rounds = (earlier_round((0, "a", ())),)
    later = request(rounds=rounds, may_keep=True)
    assert await PLANNERS[name].plan(later, unasked) is None


@EACH
def test_its_name_is_recorded(name):
    assert PLANNERS[name].name == name


@EACH
async def test_every_step_counts_for_the_answer(name):
    plan = await PLANNERS[name].plan(request(), unasked)
    assert plan is not None and plan.needed() == set(range(len(plan.steps)))


async def test_a_single_worker_gets_the_prompt_itself():
    plan = await SingleWorkerPlanner("beta").plan(request(" As  is\n"), unasked)
    assert plan is not None
    assert [(s.subtask, s.worker, s.access) for s in plan.steps] == [
        (" As  is\n", "beta", ())
    ]


async def test_self_reflection_is_a_chain_on_one_worker():
    plan = await SelfReflectionPlanner("beta", 3).plan(request(), unasked)
    assert plan is not None
    assert [(s.worker, s.access) for s in plan.steps] == [
        ("beta", ()),
        ("beta", (0,)),
        ("beta", (0, 1)),
    ]


async def test_self_reflection_asks_for_an_answer_and_then_for_better_ones():
    plan = await SelfReflectionPlanner("beta", 3).plan(request(), unasked)
    assert plan is not None
    first, second, third = (step.subtask for step in plan.steps)
    assert first != second == third


async def test_mixture_has_independent_proposals_and_an_aggregator():
    planner = MixtureOfAgentsPlanner(("alpha", "beta"), "gamma")
    plan = await planner.plan(request(), unasked)
    assert plan is not None
    assert [(s.worker, s.access) for s in plan.steps] == [
        ("alpha", ()),
        ("beta", ()),
        ("gamma", (0, 1)),
    ]


def test_self_reflection_needs_a_turn():
    with pytest.raises(ValueError, match="turns"):
        SelfReflectionPlanner("beta", 0)


def test_mixture_needs_workers():
    with pytest.raises(ValueError, match="workers"):
        MixtureOfAgentsPlanner((), "beta")
