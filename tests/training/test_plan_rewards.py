"""What sampled plans are worth."""

from __future__ import annotations

import pytest

from apps.training.conductor.rewards import (
    PlanOutcome,
    RewardSettings,
    plan_reward,
    round_reward,
)

PAPER = RewardSettings()
PLAIN_TEXT = PlanOutcome(is_plan=False)
WRONG = PlanOutcome(is_plan=True, grade=0.0, cost=3.0)
RIGHT = PlanOutcome(is_plan=True, grade=1.0, cost=1.0)
FAILED = PlanOutcome(is_plan=True, grade=None)


def test_no_plan_a_wrong_one_and_a_right_one() -> None:
    found = [plan_reward(each, PAPER) for each in (PLAIN_TEXT, WRONG, RIGHT)]
    assert found == [0.0, 0.5, 1.0]


def test_a_partly_right_answer_lies_between() -> None:
    assert plan_reward(PlanOutcome(is_plan=True, grade=0.5), PAPER) == 0.75


def test_a_workers_failure_is_missing_and_not_wrong() -> None:
    assert plan_reward(FAILED, PAPER) is None


def test_cost_counts_only_when_right_and_never_more_than_being_right() -> None:
    settings = RewardSettings(cost_weight=0.1)
    assert plan_reward(RIGHT, settings) == pytest.approx(0.9)
    assert plan_reward(WRONG, settings) == 0.5
    dear = PlanOutcome(is_plan=True, grade=1.0, cost=1e9)
    assert plan_reward(dear, settings) == 0.75


def test_the_first_of_two_rounds_counts_a_quarter() -> None:
    assert round_reward(1.0, PAPER, has_next=True) == 0.25
    assert round_reward(1.0, PAPER, has_next=False) == 1.0
    assert round_reward(None, PAPER, has_next=True) is None


def test_settings_and_grades_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match="cost_weight"):
        RewardSettings(cost_weight=-0.1)
    with pytest.raises(ValueError, match="first_round_discount"):
        RewardSettings(first_round_discount=1.5)
    with pytest.raises(ValueError, match="grade"):
        plan_reward(PlanOutcome(is_plan=True, grade=2.0), PAPER)
