"""What the candidate of a test makes of a pool when it is promoted to a tier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict

from apps.core.errors import ConductorError, Conflict
from apps.evaluation.candidate_settings import CandidateSettings
from apps.evaluation.candidate_tests import CandidateTest
from apps.evaluation.costs import pool_of_system
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.evaluation.systems.tier import TierSystem
from apps.pools.models import Pool, TierPlanner
from apps.pools.selectors import (
    access_pool,
    conductor_list,
    pool_list,
    pool_values,
    version_setup,
)
from apps.pools.services import pool_check

Setup = dict[str, Any]
"""As `apps.pools.history.setups` describes it."""
COMPOSITION = (
    "conductor_id",
    "worker_ids",
    "fallback_id",
    "retries_refusals",
    "no_substitute_ids",
)
"""Values that a pool takes from another one."""
MODELS = ("workers", "conductors")


class _Settings(CandidateSettings):
    """The settings of any kind of test."""

    model_config = ConfigDict(extra="ignore")


def settings_of(test: CandidateTest) -> CandidateSettings:
    """Return the settings that all tests of a candidate have."""
    return _Settings.model_validate(test.settings)


def pool_of(test: CandidateTest) -> Pool:
    """Return the pool of the tier. Raises: Conflict if it is gone."""
    return _pool_named(test, test.settings["pool"])


def promoted_setup(test: CandidateTest, pool: Pool) -> Setup:
    """Return the setup of the pool that makes its tier the candidate.

    Raises: Conflict with the reason if no tier can be it, or not any more.
    """
    try:
        setup = _promoted(test, pool, settings_of(test))
        values = {name: v for name, v in setup.items() if name not in MODELS}
        pool_check(pool, values)
    except Conflict:
        raise
    except ConductorError as exc:
        raise Conflict(exc.message) from exc
    return setup


def _promoted(test: CandidateTest, pool: Pool, settings: CandidateSettings) -> Setup:
    candidate, tier = settings.candidate, settings.tier
    if not isinstance(candidate, TierSystem | WorkerSystem):
        raise Conflict(
            f"{candidate.label} is a fixed plan; in a tier a conductor plans, or one "
            "worker answers"
        )
    source = _pool_named(test, settings.pool_of_candidate)
    if candidate.pool_version is None:
        origin = pool_values(source)
    else:
        origin = version_setup(source, candidate.pool_version)
    if isinstance(candidate, WorkerSystem):
        return _worker(pool, tier, candidate, source, origin)
    if candidate.workers:
        raise Conflict(
            f"{candidate.label} leaves out workers of the pool; change the workers of "
            "the pool instead"
        )
    return {
        **_composed(pool, source, candidate, origin),
        **_planner(test, candidate),
        "tiers": {
            **_other_tiers(pool, source, candidate, origin),
            tier: _limits(candidate, source, origin),
        },
    }


def _pool_named(test: CandidateTest, name: str) -> Pool:
    found = pool_list(test.team_id).filter(name=name).first()
    if found is None:
        raise Conflict(f"this team has no pool {name!r} any more")
    return access_pool(test.team_id, found.id)


def _worker(
    pool: Pool, tier: str, candidate: WorkerSystem, source: Pool, origin: Setup
) -> Setup:
    """Let one worker answer the tier: as the fallback worker of a tier without plans.

    A worker of another pool joins this one.
    """
    snapshot = pool_of_system(candidate, pool.team_id, source.name)
    ids = {worker.name: str(worker.id) for worker in snapshot.chat_workers}
    own = ids.get(candidate.worker)
    if own is None:
        raise Conflict(
            f"pool {source.name!r} has no worker {candidate.worker!r} any more"
        )
    present = pool_values(pool)["worker_ids"]
    joins = {} if own in present else {"worker_ids": [*present, own]}
    restored = origin.get("workers", {}).get(own)
    return {
        **joins,
        "fallback_id": own,
        "tiers": {tier: {"planner": str(TierPlanner.SINGLE_WORKER)}},
        **({"workers": {own: restored}} if restored else {}),
    }


def _composed(pool: Pool, source: Pool, candidate: TierSystem, origin: Setup) -> Setup:
    """Return what the pool takes of another pool, or of a version; empty: nothing."""
    if source.id == pool.id and candidate.pool_version is None:
        return {}
    names = (*COMPOSITION, *(name for name in MODELS if origin.get(name)))
    taken = {name: origin[name] for name in names}
    if candidate.conductor:  # the other one stays as it is
        taken.pop("conductors", None)
    return taken


def _other_tiers(
    pool: Pool, source: Pool, candidate: TierSystem, origin: Setup
) -> Setup:
    """Return all tiers of a version that is restored; else empty: they stay."""
    is_restored = source.id == pool.id and candidate.pool_version is not None
    return dict(origin["tiers"]) if is_restored else {}


def _planner(test: CandidateTest, candidate: TierSystem) -> Setup:
    """Return the conductor that plans for the pool; empty: none is named."""
    if not candidate.conductor:
        return {}
    row = conductor_list(test.team_id).filter(name=candidate.conductor).first()
    if row is None:
        raise Conflict(f"this team has no conductor {candidate.conductor!r} any more")
    return {"conductor_id": str(row.id)}


def _limits(candidate: TierSystem, source: Pool, origin: Mapping[str, Any]) -> Setup:
    tier = origin["tiers"].get(candidate.tier)
    if tier is None:
        raise Conflict(f"pool {source.name!r} has no tier {candidate.tier!r} any more")
    if candidate.conductor:
        if tier["planner"] == TierPlanner.SINGLE_WORKER:
            raise Conflict(
                f"in tier {candidate.tier!r} of pool {source.name!r} one worker "
                "answers now"
            )
        tier = {**tier, "planner": str(TierPlanner.CONDUCTOR)}
    if candidate.max_rounds == 0:
        return {**tier, "planner": str(TierPlanner.SINGLE_WORKER)}
    limits = {"max_rounds": candidate.max_rounds, "max_steps": candidate.max_steps}
    return {**tier, **{name: v for name, v in limits.items() if v is not None}}
