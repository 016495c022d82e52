"""What a worker's step leads to: the one table of probabilities.

Answers are drawn from it, and expected scores are summed over it, so neither can
differ from the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from apps.simulator.benchmark.workers import BenchWorker
from apps.simulator.briefing import BriefingRole


class BenchOutcome(StrEnum):
    """What a response is worth."""

    RIGHT = "right"
    NEAR = "near"
    """Wrong, and can be repaired by somebody who sees it."""
    LOST = "lost"
    """Wrong, with little to repair."""
    GOOD_PLAN = "good_plan"
    BAD_PLAN = "bad_plan"


Distribution = tuple[tuple[float, BenchOutcome], ...]
"""Outcomes with their probabilities, which add up to 1."""

DRAFTS = frozenset({BenchOutcome.RIGHT, BenchOutcome.NEAR, BenchOutcome.LOST})
SIMPLE_SKILL = 0.4
"""From this skill on, wrong answers are near misses."""
CAREFUL_REPAIR = 0.5
"""From this skill on, a worker rarely spoils a right draft."""
SPOILED_BY_CAREFUL, SPOILED_BY_OTHERS = 0.01, 0.06
REPAIR_OF_LOST = 0.2
"""How much of the skill remains for drafts with little to repair."""
MISLED = 0.7
"""How much of the skill remains with a bad plan in sight."""
OWN_SHARE, SHARE_OF_RIGHT = 0.85, 0.7
"""How much an aggregator's own skill counts, and the share of right drafts."""


def role_of(role: BriefingRole, *, sees_any: bool) -> BriefingRole:
    """Return what a role comes to: checks need responses, plans come first."""
    if role is BriefingRole.PLAN:
        return BriefingRole.SOLVE if sees_any else role
    return role if sees_any else BriefingRole.SOLVE


def outcomes(
    worker: BenchWorker,
    family: str,
    role: BriefingRole,
    seen: Sequence[BenchOutcome],
) -> Distribution:
    """Return what a step may lead to; `seen` are the responses it reads, in order."""
    drafts = [outcome for outcome in seen if outcome in DRAFTS]
    role = role_of(role, sees_any=bool(seen))
    if role is BriefingRole.PLAN:
        return _either(worker.planning, BenchOutcome.GOOD_PLAN, BenchOutcome.BAD_PLAN)
    if role is BriefingRole.CHECK and drafts:
        return _checked(worker.repair[family], drafts[-1])
    if role is BriefingRole.COMBINE and drafts:
        return _combined(worker.solve[family], drafts)
    return _solved(worker, family, seen)


def _checked(skill: float, draft: BenchOutcome) -> Distribution:
    if draft is BenchOutcome.RIGHT:
        is_careful = skill >= CAREFUL_REPAIR
        spoiled = SPOILED_BY_CAREFUL if is_careful else SPOILED_BY_OTHERS
        return _either(1 - spoiled, BenchOutcome.RIGHT, BenchOutcome.NEAR)
    share = 1.0 if draft is BenchOutcome.NEAR else REPAIR_OF_LOST
    return _either(skill * share, BenchOutcome.RIGHT, draft)


def _combined(skill: float, drafts: Sequence[BenchOutcome]) -> Distribution:
    right = drafts.count(BenchOutcome.RIGHT) / len(drafts)
    failed = (1 - OWN_SHARE * skill) * (1 - SHARE_OF_RIGHT * right)
    other = BenchOutcome.NEAR if BenchOutcome.NEAR in drafts else BenchOutcome.LOST
    return _either(1.0 if right == 1 else 1 - failed, BenchOutcome.RIGHT, other)


def _solved(
    worker: BenchWorker, family: str, seen: Sequence[BenchOutcome]
) -> Distribution:
    skill = share = worker.solve[family]
    if family in worker.guided:
        if BenchOutcome.GOOD_PLAN in seen:
            share = worker.guided[family]
        elif BenchOutcome.BAD_PLAN in seen:
            share = skill * MISLED
    is_near = skill >= SIMPLE_SKILL or share >= 0.5
    return _either(
        share, BenchOutcome.RIGHT, BenchOutcome.NEAR if is_near else BenchOutcome.LOST
    )


def _either(share: float, first: BenchOutcome, second: BenchOutcome) -> Distribution:
    return ((share, first), (1 - share, second))
