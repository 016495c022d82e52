"""Puts versions of light planners to use, within what the gate found."""

from __future__ import annotations

from collections.abc import Sequence

from apps.audit.types import Actor
from apps.core.errors import InvalidInput
from apps.pools.models import Pool, TierPlanner
from apps.pools.selectors import planner_version
from apps.pools.services import planner_version_use


def planner_use(
    *,
    pool: Pool,
    number: int,
    tiers: Sequence[str],
    actor: Actor,
    reason: str = "",
    with_conductor: bool = False,
) -> Pool:
    """Let tiers of a pool plan with a version of its light planner.

    `with_conductor`: where it is unsure, the pool's conductor plans. Raises: NotFound;
    InvalidInput if the version did not pass the gate and no reason is given; Conflict
    if a conductor is wanted and the pool has none.
    """
    gate = planner_version(pool, number).gate
    if not reason.strip() and not (gate and gate["is_better"]):
        why = "is not better" if gate else "was not measured"
        raise InvalidInput(
            f"version {number} {why}: say why it is to be used all the same",
            param="reason",
        )
    known = {tier.name for tier in pool.tiers.all()}
    if missing := sorted({*tiers} - known):
        raise InvalidInput(
            f"pool {pool.name!r} has no tier {missing[0]!r}", param="tiers"
        )
    planner = TierPlanner.CASCADE if with_conductor else TierPlanner.LIGHT
    return planner_version_use(
        pool=pool,
        number=number,
        tiers=dict.fromkeys(tiers, planner),
        actor=actor,
        reason=reason.strip(),
    )


def planner_retire(*, pool: Pool, actor: Actor) -> Pool:
    """Let tiers plan with the pool's conductor, or with one worker if it has none."""
    without = TierPlanner.CONDUCTOR if pool.conductor_id else TierPlanner.SINGLE_WORKER
    light = [t.name for t in pool.tiers.all() if TierPlanner(t.planner).is_light]
    return planner_version_use(
        pool=pool, number=None, tiers=dict.fromkeys(light, without), actor=actor
    )
