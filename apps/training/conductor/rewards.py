"""What a sampled plan is worth. Pure.

Source: arXiv 2512.04388: 0 for a reply that is no plan, 0.5 for a plan whose answer is
wrong, 1 for a right one; the first round of a plan with a second counts a quarter.
The cost term is ours, and off by default.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_PLAN = 0.0
WRONG = 0.5
RIGHT = 1.0


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """How plans are rewarded."""

    cost_weight: float = 0.0
    """Taken from a right plan's reward for a cost of 1, in the unit of the outcomes."""
    first_round_discount: float = 0.25
    """Weight of a plan after which the conductor plans once more."""

    def __post_init__(self) -> None:
        if self.cost_weight < 0:
            raise ValueError("cost_weight: expected a number from 0")
        if not 0 <= self.first_round_discount <= 1:
            raise ValueError("first_round_discount: expected a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What became of one plan."""

    is_plan: bool
    """The reply could be parsed, and kept the rules of plans."""
    grade: float | None = None
    """Of the answer, 0 to 1. None: missing, because a worker failed."""
    cost: float = 0.0
    """In relation to something all plans share, such as the dearest one."""


def plan_reward(outcome: PlanOutcome, settings: RewardSettings) -> float | None:
    """Return the reward of one round, 0 to 1, or None if it is missing.

    A right answer is worth more than a wrong one, whatever it cost.
    """
    if not outcome.is_plan:
        return NO_PLAN
    if outcome.grade is None:
        return None
    if not 0 <= outcome.grade <= 1:
        raise ValueError(f"grade: expected a number from 0 to 1, got {outcome.grade}")
    if outcome.grade < RIGHT:
        return WRONG + (RIGHT - WRONG) * outcome.grade
    saved = (RIGHT - WRONG) / 2
    return RIGHT - min(settings.cost_weight * max(0.0, outcome.cost), saved)


def round_reward(
    reward: float | None, settings: RewardSettings, *, has_next: bool
) -> float | None:
    """Return what the reward of a plan, or of a kept answer, counts in its round.

    `has_next`: another round follows, so this one is discounted. None: it is missing.
    """
    if reward is None or not has_next:
        return reward
    return settings.first_round_discount * reward
