"""Says why a tier that looks as if it planned does not.

A notice is advice about a pool that can be saved: such a pool works, but every question
goes to one worker, which its team may not expect. Pure: reads the pool it is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_noop

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
            gettext_noop(
                "No tier of this pool uses the conductor %(conductor)s: %(fallback)s "
                "answers alone. Offer the ultra tier, or let the conductor pick the "
                "worker of the mini tier."
            ),
            {"conductor": pool.conductor.name, "fallback": pool.fallback.name},
        )


def _about_ultra(pool: Pool) -> PlanningNotice:
    path = f"tiers.{TierName.ULTRA}.planner"
    names = {"fallback": pool.fallback.name}
    if pool.conductor is None:
        text = gettext_noop(
            "The ultra tier does not plan, because the pool has no conductor: "
            "%(fallback)s answers alone. Choose a conductor."
        )
        return PlanningNotice(path, text, names)
    text = gettext_noop(
        "The ultra tier does not plan, because it is set to use no plan: %(fallback)s "
        "answers alone. Let the conductor %(conductor)s plan."
    )
    return PlanningNotice(path, text, {**names, "conductor": pool.conductor.name})
