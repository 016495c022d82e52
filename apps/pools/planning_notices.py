"""Says why a tier that looks as if it planned does not.

A notice is advice about a pool that can be saved: such a pool works, but every question
goes to one worker, which its team may not expect. Pure: reads the pool it is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from apps.pools.models import Pool, TierName, TierPlanner
from apps.pools.types import PlanningNotice


def planning_notices(pool: Pool) -> list[PlanningNotice]:
    """Return what keeps the tiers of a pool from planning; empty: nothing does.

    Reads the pool's tiers, fallback and conductor.
    """
    return list(_notices(pool))


def _notices(pool: Pool) -> Iterator[PlanningNotice]:
    planners = {tier.name: TierPlanner(tier.planner) for tier in pool.tiers.all()}
    ultra = planners.get(TierName.ULTRA)
    if ultra == TierPlanner.SINGLE_WORKER:
        yield _about_ultra(pool)
    elif pool.conductor and set(planners.values()) == {TierPlanner.SINGLE_WORKER}:
        yield PlanningNotice(
            "tiers",
            f"No tier of this pool uses the conductor {pool.conductor.name}: "
            f"{pool.fallback.name} answers alone. Offer the ultra tier, or let the "
            "conductor pick the worker of the mini tier.",
        )


def _about_ultra(pool: Pool) -> PlanningNotice:
    who = f"{pool.fallback.name} answers alone"
    if pool.conductor is None:
        why = f"because the pool has no conductor: {who}. Choose a conductor."
    else:
        why = (
            f"because it is set to use no plan: {who}. Let the conductor "
            f"{pool.conductor.name} plan."
        )
    path = f"tiers.{TierName.ULTRA}.planner"
    return PlanningNotice(path, f"The ultra tier does not plan, {why}")
