"""Expected scores: the reference figures, the oracle, and what pools change."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from apps.simulator.benchmark.behavior import outcomes
from apps.simulator.benchmark.expectations import (
    FAMILIES,
    SHAPES,
    BenchStep,
    InvalidBenchPlan,
    alone,
    baselines,
    delegated_score,
    expected_score,
    mixture,
    oracle_plan,
    regret,
    self_reflection,
    sub_pool,
)
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.suite import figures
from apps.simulator.benchmark.workers import BENCH_BY_NAME, ROSTERS, STRONG_GENERALIST
from apps.simulator.briefing import BriefingRole

PAGE = Path(__file__).resolve().parents[3] / "docs" / "simulated-benchmark.md"
STRONG = ROSTERS["strong"]
CODING, PLANNING = BENCH_BY_NAME["bench-coding"], BENCH_BY_NAME["bench-planning"]
CHECKING = BENCH_BY_NAME["bench-checking"]
CHECK = BenchStep(CHECKING, BriefingRole.CHECK, (0,))
PLAN = BenchStep(PLANNING, BriefingRole.PLAN)
STORY, TRACE = TaskFamily.WORD_PROBLEMS, TaskFamily.TRACING


def means(roster: str) -> dict[str, float]:
    pool = ROSTERS[roster]
    return {
        name: sum(expected_score(baselines(f, pool)[name], f) for f in FAMILIES) / 6
        for name in baselines(FAMILIES[0], pool)
    }


def test_reference_figures_are_those_of_the_world() -> None:
    """Computed for the same world by other code, for each family equally."""
    strong, weak = means("strong"), means("weak")
    assert strong == pytest.approx(
        {
            "best single worker": 0.592,
            "Mixture-of-Agents": 0.607,
            "self-reflection x 5": 0.731,
            "best worker per family": 0.725,
            "oracle": 0.968,
        },
        abs=0.0006,
    )
    assert weak["best single worker"] == pytest.approx(0.425)
    assert weak["Mixture-of-Agents"] == pytest.approx(0.513, abs=0.0006)


@pytest.mark.parametrize(
    ("planner", "score"),
    [("bench-planning", 0.898), ("bench-generalist-strong", 0.761)],
)
def test_the_page_says_what_planning_by_a_worker_brings(
    planner: str, score: float
) -> None:
    found = delegated_score(BENCH_BY_NAME[planner], STRONG)
    assert found == pytest.approx(score, abs=0.0006)
    assert f"| planned by `{planner}` | {score:.3f} |" in PAGE.read_text("utf-8")


def test_page_has_the_figures_of_the_command() -> None:
    assert figures() in PAGE.read_text("utf-8")


def test_scores_by_hand() -> None:
    assert expected_score(alone(CODING), TRACE) == 0.4
    checked = (BenchStep(CODING, BriefingRole.SOLVE), CHECK)
    assert expected_score(checked, TRACE) == pytest.approx(0.4 * 0.99 + 0.6 * 0.92)
    planned = (PLAN, BenchStep(CODING, BriefingRole.SOLVE, (0,)))
    assert expected_score(planned, STORY) == pytest.approx(
        0.95 * 0.95 + 0.05 * 0.15 * 0.7
    )


def test_plan_and_draft_help_only_if_they_are_seen() -> None:
    for role, family in ((BriefingRole.SOLVE, STORY), (BriefingRole.CHECK, TRACE)):
        first = BriefingRole.PLAN if role is BriefingRole.SOLVE else BriefingRole.SOLVE
        unseen = (BenchStep(PLANNING, first), BenchStep(CODING, role))
        assert expected_score(unseen, family) == expected_score(alone(CODING), family)


def test_equal_steps_are_one_draw() -> None:
    twice = mixture((CODING, CODING), CHECKING)
    once = mixture((CODING,), CHECKING)
    assert expected_score(twice, TRACE) == pytest.approx(expected_score(once, TRACE))


def test_outcomes_add_up_to_one() -> None:
    for worker in BENCH_BY_NAME.values():
        for family in FAMILIES:
            for role in BriefingRole:
                table = outcomes(worker, family, role, ())
                assert sum(share for share, _ in table) == pytest.approx(1)


def test_two_families_need_two_workers() -> None:
    for family, helper in ((STORY, PLANNING), (TRACE, CHECKING)):
        best = oracle_plan(family, STRONG)
        assert helper in {step.worker for step in best}
        assert len({step.worker for step in best}) > 1
        reflected = self_reflection(STRONG_GENERALIST, 5)
        assert regret(reflected, family, STRONG) > 0.4


def test_nothing_of_the_usual_shapes_beats_the_oracle() -> None:
    draws = random.Random(5)
    for _ in range(2_000):
        family = draws.choice(FAMILIES)
        plan = tuple(
            BenchStep(draws.choice(STRONG), role, draws.choice(((), tuple(range(n)))))
            for n, role in enumerate(draws.choice(SHAPES))
        )
        assert regret(plan, family, STRONG) >= -1e-9


def test_order_of_the_pool_changes_nothing() -> None:
    for index in range(30):
        pool = sub_pool(STRONG, 3, index)
        for family in FAMILIES:
            assert baselines(family, pool) == baselines(family, pool[::-1])


def test_sub_pools_are_repeatable_and_differ() -> None:
    pools = [sub_pool(STRONG, 3, index) for index in range(100)]
    assert pools == [sub_pool(STRONG, 3, index) for index in range(100)]
    assert {len(pool) for pool in pools} == {4, 5, 6}
    assert all(len(set(pool)) == len(pool) for pool in pools)
    assert len(set(pools)) > 80
    assert len({pool for pool in pools if len(pool) == 6}) > 10


@pytest.mark.parametrize("least", [0, 7])
def test_impossible_sub_pool_is_refused(least: int) -> None:
    with pytest.raises(ValueError, match="least: expected 1 to 6"):
        sub_pool(STRONG, 3, 0, least)


@pytest.mark.parametrize(
    "plan",
    [
        (),
        (BenchStep(CODING, BriefingRole.SOLVE, (0,)),),
        (BenchStep(CODING, BriefingRole.SOLVE, (-1,)),),
        (BenchStep(CODING, BriefingRole.SOLVE),) * 7,
    ],
)
def test_invalid_plan_is_refused(plan: tuple[BenchStep, ...]) -> None:
    with pytest.raises(InvalidBenchPlan):
        expected_score(plan, TRACE)
