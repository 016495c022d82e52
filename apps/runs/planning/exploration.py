"""Which runs may try a plan near the best one, and how these plan."""

from __future__ import annotations

import uuid
from dataclasses import replace

from apps.planners.exploration import Explorer
from apps.runs.models import NOT_BY_CALLERS
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder


def may_explore(order: RunOrder, resolved: ResolvedModel) -> bool:
    """Say whether a new run could explore, if its team wants that.

    Only requests of people and keys to tiers of light planners: no evaluation or shadow
    test, no repetition or fork of a run, neither side of an A/B test, and no request
    that says never.
    """
    return (
        order.explores is None
        and order.restrictions.exploration is None
        and order.source not in NOT_BY_CALLERS
        and order.arm is None
        and isinstance(resolved.planner, Explorer)
    )


def exploring(resolved: ResolvedModel, run_id: uuid.UUID) -> ResolvedModel:
    """Return how a run goes that explores; its id decides which plan it tries."""
    planner = resolved.planner
    if not isinstance(planner, Explorer):
        return resolved  # since it was accepted, its tier got another planner
    return replace(resolved, planner=planner.exploring(str(run_id)))
