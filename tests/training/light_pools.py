"""Pools whose tiers plan with a light planner that was made by hand, for tests."""

from __future__ import annotations

from apps.pools.models import Pool
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.services import planner_use
from tests.conftest import Site
from tests.factories import ACTOR
from tests.planners.light.builders import checkers

NAMES = ("sim-delta", "sim-birch", "sim-gone")


def with_light_planner(site: Site, *, with_conductor: bool = False) -> Pool:
    """Let tier ultra plan with a model that thinks each check as good as the next."""
    pool: Pool = site.cast.team.pools.get(is_default=True)
    fit = PlannerFit(500, 900, 2, NAMES, "0" * 64)
    stored = checkers(NAMES).to_bytes()
    version = planner_version_add(pool=pool, stored=stored, fit=fit, actor=ACTOR)
    return planner_use(
        pool=pool,
        number=version.number,
        tiers=["ultra"],
        actor=ACTOR,
        reason="For a test.",
        with_conductor=with_conductor,
    )
