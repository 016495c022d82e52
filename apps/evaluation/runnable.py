"""Whether a pool can run some systems."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from apps.core.errors import ConductorError, InvalidInput
from apps.evaluation.candidate_settings import CandidateSettings
from apps.evaluation.costs import pool_of_system
from apps.evaluation.systems.base import carrier_tier
from apps.evaluation.systems.kinds import System
from apps.evaluation.systems.tier import TierSystem
from apps.pools.models import TierPlanner
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot, WorkerSnapshot


def require_runnable(
    systems: Sequence[System],
    snapshot: PoolSnapshot,
    *,
    grader: str | None,
    needs_prices: bool,
    param: str,
) -> None:
    """Raise InvalidInput if a pool lacks what systems or their grader need.

    A system that names a version of the pool needs it there. `param` is the field that
    names the systems. With `needs_prices` every worker must have a price.
    """
    if grader is not None and grader not in _workers(snapshot):
        raise InvalidInput(
            f"pool {snapshot.name!r} has no worker {grader!r} that answers "
            "conversations",
            param="grader",
        )
    used = [snapshot]
    for system in systems:
        its_pool = _pool_of(system, snapshot, param)
        used.append(its_pool)
        _require_names(system, its_pool, param)
        _require_steps(system, its_pool, param)
        if isinstance(system, TierSystem):
            _require_tier(system, its_pool, param)
    if needs_prices:
        for pool in used:
            _require_prices(pool)


def require_candidate(
    team_id: UUID,
    settings: CandidateSettings,
    *,
    grader: str | None = None,
    needs_prices: bool = False,
) -> None:
    """Raise InvalidInput if the pool of a candidate lacks what it needs.

    Raises also: as `pool_snapshot`.
    """
    require_runnable(
        (settings.candidate,),
        pool_snapshot(team_id, settings.pool_of_candidate),
        grader=grader,
        needs_prices=needs_prices,
        param="candidate",
    )


def _workers(snapshot: PoolSnapshot) -> dict[str, WorkerSnapshot]:
    return {worker.name: worker for worker in snapshot.chat_workers}


def _pool_of(system: System, snapshot: PoolSnapshot, param: str) -> PoolSnapshot:
    """Return the version of the pool that a system uses. Raises: InvalidInput."""
    if system.version_of_pool is None:
        return snapshot
    try:
        return pool_of_system(system, snapshot.team_id, snapshot.name)
    except ConductorError as exc:  # what the version needs is gone
        raise InvalidInput(f"{system.label}: {exc.message}", param=param) from exc


def _require_prices(snapshot: PoolSnapshot) -> None:
    for name, worker in _workers(snapshot).items():
        if worker.price is None:
            raise InvalidInput(
                f"with a cost limit every worker needs a price; {name!r} has none",
                param="max_cost_micros",
            )


def _require_names(system: System, snapshot: PoolSnapshot, param: str) -> None:
    for name in system.named_workers:
        if name not in _workers(snapshot):
            raise InvalidInput(
                f"{system.label}: pool {snapshot.name!r} has no worker {name!r} "
                "that answers conversations",
                param=param,
            )


def _require_steps(system: System, snapshot: PoolSnapshot, param: str) -> None:
    carrier = carrier_tier(snapshot.tiers)
    most = snapshot.tiers[carrier].max_steps
    if system.steps > most:
        raise InvalidInput(
            f"{system.label}: it takes {system.steps} steps, and tier "
            f"{carrier!r} of pool {snapshot.name!r} allows {most}",
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
    if tier.planner == TierPlanner.SINGLE_WORKER:
        raise InvalidInput(
            f"{system.label}: tier {system.tier!r} of pool {snapshot.name!r} takes no "
            f"other conductor; its planner is “{TierPlanner(tier.planner).label}”",
            param=param,
        )
    version = system.version_of_pool
    try:
        pool_snapshot(snapshot.team_id, snapshot.name, system.conductor, version)
    except ConductorError as exc:
        raise InvalidInput(f"{system.label}: {exc.message}", param=param) from exc
