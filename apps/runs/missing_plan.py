"""Says whether a run was answered without a plan that its tier should have made.

A run that asked for one worker, or came with its own plan, is none of these. Reads
what rows and read models know; knows no pools.
"""

from __future__ import annotations

from enum import StrEnum

from django.db.models import Q

from apps.planners.fixed import SINGLE_WORKER
from apps.pools.models import TierName
from apps.runs.models import NOT_BY_CALLERS, Run
from apps.runs.records.round_view import FALLBACK

TIER_PLANNERS = ("language_model", "light", "light_cascade", "approver", "delegated")
"""What plans a run in the name of its tier, a plan changed by people included."""


class MissingPlan(StrEnum):
    """Why there was no plan."""

    NO_USABLE_PLAN = "no_usable_plan"
    """Its conductor gave none that could be used, so the fallback worker answered."""
    TIER_DOES_NOT_PLAN = "tier_does_not_plan"
    """The ultra tier has no conductor, or is set to use no plan."""


def missing_plan(
    tier: str, planner: str, *, is_by_choice: bool = False
) -> MissingPlan | None:
    """Return why a run has no plan of its tier; None: it has one, or needs none.

    `is_by_choice`: what asked for the run also said what plans it.
    """
    if planner == FALLBACK:
        return MissingPlan.NO_USABLE_PLAN
    is_single = planner == SINGLE_WORKER
    if is_single and tier == TierName.ULTRA and not is_by_choice:
        return MissingPlan.TIER_DOES_NOT_PLAN
    return None


MISSING_PLAN = Q(planner=FALLBACK) | (
    Q(planner=SINGLE_WORKER, tier=TierName.ULTRA, ab_arm="")
    & ~Q(source__in=NOT_BY_CALLERS)
)
"""The condition of rows with a missing plan."""


def missing_plan_of(run: Run) -> MissingPlan | None:
    """Return the same of a row."""
    is_by_choice = run.source in NOT_BY_CALLERS or bool(run.ab_arm)
    return missing_plan(run.tier, run.planner, is_by_choice=is_by_choice)
