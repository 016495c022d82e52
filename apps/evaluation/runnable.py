"""Whether a pool can run some systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apps.core.errors import InvalidInput, NotFound
from apps.evaluation.systems.base import CARRIER_TIER
from apps.evaluation.systems.kinds import System
from apps.evaluation.systems.tier import TierSystem
from apps.pools.models import TierPlanner
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot


def require_runnable(
    systems: Sequence[System],
    snapshot: PoolSnapshot,
    *,
    grader: str | None,
    needs_prices: bool,
    param: str,
) -> None:
    """Raise InvalidInput if a pool lacks what systems or their grader need.

    `param` is the field that names the systems. With `needs_prices` every worker must
    have a price.
    """
    workers = {worker.name: worker for worker in snapshot.chat_workers}
    if grader is not None and grader not in workers:
        raise InvalidInput(
            f"pool {snapshot.name!r} has no worker {grader!r} that answers "
            "conversations",
            param="grader",
        )
    for system in systems:
        _require_names(system, snapshot, workers, param)
        _require_steps(system, snapshot, param)
        if isinstance(system, TierSystem):
            _require_tier(system, snapshot, param)
    unpriced = [name for name, worker in workers.items() if worker.price is None]
    if needs_prices and unpriced:
        raise InvalidInput(
            f"with a cost limit every worker needs a price; {unpriced[0]!r} has none",
            param="max_cost_micros",
        )


def _require_names(
    system: System, snapshot: PoolSnapshot, workers: Collection[str], param: str
) -> None:
    for name in system.named_workers:
        if name not in workers:
            raise InvalidInput(
                f"{system.label}: pool {snapshot.name!r} has no worker {name!r} "
                "that answers conversations",
                param=param,
            )


def _require_steps(system: System, snapshot: PoolSnapshot, param: str) -> None:
    carrier = snapshot.tiers.get(CARRIER_TIER)
    if system.steps and carrier is None:
        raise InvalidInput(
            f"{system.label}: it takes {system.steps} steps of tier {CARRIER_TIER!r}, "
            f"which pool {snapshot.name!r} does not have",
            param=param,
        )
    if carrier is not None and system.steps > carrier.max_steps:
        raise InvalidInput(
            f"{system.label}: it takes {system.steps} steps, and tier "
            f"{CARRIER_TIER!r} of pool {snapshot.name!r} allows {carrier.max_steps}",
            param=param,
        )


def _require_tier(system: TierSystem, snapshot: PoolSnapshot, param: str) -> None:
    tier = snapshot.tiers.get(system.tier)
    if tier is None:
        raise InvalidInput(
            f"{system.label}: pool {snapshot.name!r} has no tier {system.tier!r}",
            param=param,
        )
    if not system.conductor:
        return
    if tier.planner != TierPlanner.CONDUCTOR:
        raise InvalidInput(
            f"{system.label}: in tier {system.tier!r} of pool {snapshot.name!r} one "
            "worker answers, and no conductor is asked",
            param=param,
        )
    try:
        pool_snapshot(snapshot.team_id, snapshot.name, system.conductor)
    except NotFound as exc:
        raise InvalidInput(f"{system.label}: {exc.message}", param=param) from exc
