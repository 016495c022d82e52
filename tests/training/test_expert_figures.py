"""Expert replies are worth what their planner's plans are, on the benchmark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from apps.planners.light.planner import LightPlanner
from apps.simulator.benchmark.workers import BENCH_BY_NAME, ROSTERS, BenchWorker
from apps.training.conductor.examples import expert_example
from bench.conductor_scores import reply_figures
from bench.learning import learned
from bench.learning_scores import Held, held_out, planned
from bench.learning_world import MAX_STEPS, request

SOME = 60


@pytest.fixture(scope="module")
def planner() -> LightPlanner:
    return LightPlanner(learned(ROSTERS["strong"], 1_000, 0).model, 1)


@pytest.fixture(scope="module", params=["fixed", "k of n"])
def held(request) -> Held:
    found = held_out(ROSTERS["strong"], request.param, seed=777)
    return Held(found.tasks[:SOME], found.pools[:SOME])


def numbered(planner: LightPlanner, held: Held) -> tuple[list[str], Held]:
    """Return the best replies, and the questions with workers by number."""
    pairs = zip(held.tasks, held.pools, strict=True)
    found = [
        expert_example(
            planner, task.question, request(task.question, pool).pool, MAX_STEPS
        )
        for task, pool in pairs
    ]
    pools: list[Sequence[BenchWorker]] = [
        [BENCH_BY_NAME[name] for name in each.workers] for each in found
    ]
    return [each.completions[0] for each in found], Held(held.tasks, pools)


def test_replies_score_as_the_plans_that_they_say(planner, held):
    figures = reply_figures(*numbered(planner, held))
    expected = planned(planner.model, held)
    assert figures["valid"] == 1
    for name in ("success", "steps", "tokens", "cost_micros"):
        assert figures[name] == pytest.approx(expected[name])


def test_replies_that_are_no_plans_are_wrong_and_cost_nothing(planner, held):
    replies, pools = numbered(planner, held)
    spoiled = [text.replace("model_id", "models") for text in replies[: SOME // 2]]
    figures = reply_figures([*spoiled, *replies[SOME // 2 :]], pools)
    whole = reply_figures(replies, pools)
    assert figures["valid"] == 0.5
    assert 0 < figures["success"] < whole["success"]
    assert figures["cost_micros"] < whole["cost_micros"]


def test_shares_of_workers_are_said_by_family(planner, held):
    figures = reply_figures(*numbered(planner, held))
    assert set(figures["families"]) == {task.family for task in held.tasks}
    for family in figures["families"].values():
        assert sum(family["shares"].values()) == pytest.approx(1)
        assert set(family["shares"]) <= {w.name for w in ROSTERS["strong"]}
