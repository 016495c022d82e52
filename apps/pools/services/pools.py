"""Changes to pools: who works, who plans, who takes over, and within which limits."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import Conflict, VersionConflict
from apps.core.input_parts import values_read
from apps.pools.attributes import TierDocument
from apps.pools.models import (
    Conductor,
    Pool,
    Tier,
    TierName,
    TierPlanner,
    Worker,
    WorkerKind,
)
from apps.pools.pool_file_import import places_put
from apps.pools.pool_transaction import PoolChange, differences, pool_change
from apps.pools.selectors import access_pool
from apps.pools.serializers import pool_values
from apps.pools.service_inputs import PoolInput
from apps.pools.validation import UNKNOWN, Faults, merged, name_fault

Limits = dict[TierName, dict[str, Any]]
NO_LIGHT_PLANNER = "the pool has no light planner; train one, and use a version of it"


def pool_create(*, team: Team, values: Mapping[str, Any], actor: Actor) -> Pool:
    """Create a pool. A team's first one is its default, whatever is said.

    Without tiers it gets mini and, with a conductor, ultra. Raises: InvalidFields.
    """
    with pool_change(team.id, actor) as change:
        given = values_read(PoolInput, values)
        is_first = not _others(team.id, None).filter(is_default=True).exists()
        limits = _tier_limits(given)
        _check(team.id, given, limits, own=None)
        pool = Pool(team=team)
        _put(pool, given, limits, is_default=given.is_default or is_first)
        pool = access_pool(team.id, pool.id)
        change.record("pool.created", pool, after=pool_values(pool))
    return pool


def pool_update(
    *,
    pool: Pool,
    values: Mapping[str, Any],
    actor: Actor,
    expected_version: int | None = None,
) -> Pool:
    """Change the given values of a pool; of a tier, too, what is not given stays.

    A tier given as null goes. When a pool without a conductor gets one, its tiers plan
    with it from then on, unless `values` say how. Raises: InvalidFields, NotFound,
    VersionConflict if the pool is not at `expected_version` any more.
    """
    with pool_change(pool.team_id, actor) as change:
        pool_put(change, pool, values, expected_version)
    return access_pool(pool.team_id, pool.id)


def pool_put(
    change: PoolChange,
    pool: Pool,
    values: Mapping[str, Any],
    expected_version: int | None,
) -> None:
    """Change the given values of a pool as a part of a change.

    Raises: as `pool_update`.
    """
    row = access_pool(pool.team_id, pool.id)
    _check_version(row, expected_version)
    before = pool_values(row)
    given, limits = _checked(row, before, values)
    _put(row, given, limits, is_default=given.is_default)
    row = access_pool(pool.team_id, pool.id)
    changed = differences(before, pool_values(row))
    if changed:
        change.record("pool.updated", row, **changed)


def pool_check(pool: Pool, values: Mapping[str, Any]) -> None:
    """Say whether a pool can be given these values. Raises: InvalidFields."""
    _checked(pool, pool_values(pool), values)


def _checked(
    row: Pool, present: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[PoolInput, Limits]:
    given = values_read(PoolInput, _merged(present, values))
    limits = _tier_limits(given)
    _check(row.team_id, given, limits, own=row)
    return given, limits


def pool_delete(
    *, pool: Pool, actor: Actor, expected_version: int | None = None
) -> None:
    """Delete a pool; its workers and its conductor stay.

    Raises: Conflict if it is the default and not the last one, NotFound,
    VersionConflict if it is not at `expected_version` any more.
    """
    team_id = pool.team_id
    with pool_change(team_id, actor) as change:
        row = access_pool(team_id, pool.id)
        _check_version(row, expected_version)
        if row.is_default and _others(team_id, row).exists():
            raise Conflict(
                f"pool {row.name!r} is the default; make another one that first"
            )
        change.record("pool.deleted", row, before=pool_values(row))
        row.delete()


def _check_version(row: Pool, expected: int | None) -> None:
    if expected not in (None, row.version):
        raise VersionConflict(
            f"pool {row.name!r} is at version {row.version} by now, not at {expected}"
        )


def _others(team_id: uuid.UUID, own: Pool | None) -> Any:
    pools = Pool.objects.for_team(team_id)
    return pools.exclude(pk=own.pk) if own else pools


def _merged(present: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    absent = dict.fromkeys(name.value for name in TierName)
    tiers = {**absent, **present["tiers"]}
    result = {**present, **given, "tiers": tiers}
    ids = given.get("worker_ids")
    if isinstance(ids, list | tuple) and "no_substitute_ids" not in given:
        # Whoever leaves the pool leaves this list, too.
        staying = {str(one) for one in ids}
        spared = present["no_substitute_ids"]
        result["no_substitute_ids"] = [one for one in spared if one in staying]
    asked = given.get("tiers", {})
    if not isinstance(asked, Mapping):
        return {**result, "tiers": asked}
    if present["conductor_id"] is None and result["conductor_id"] is not None:
        tiers = {name: _planning(tier) for name, tier in tiers.items()}
    return {**result, "tiers": merged(tiers, asked)}


def _planning(tier: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a tier of a pool that gets a conductor: it plans, if none did before."""
    if tier is None or tier["planner"] != TierPlanner.SINGLE_WORKER:
        return tier
    return {**tier, "planner": TierPlanner.CONDUCTOR.value}


def _tier_limits(given: PoolInput) -> Limits:
    """Return the rows of the tiers: the usual ones and any named, but those of null."""
    has_conductor = given.conductor_id is not None
    usual = [TierName.MINI, *([TierName.ULTRA] if has_conductor else [])]
    return {
        name: (given.tiers.get(name) or TierDocument()).limits(
            name, has_conductor=has_conductor
        )
        for name in TierName
        if given.tiers.get(name, name in usual)
    }


def _check(
    team_id: uuid.UUID, given: PoolInput, limits: Limits, own: Pool | None
) -> None:
    """Check what lies beyond the shape. Raises: InvalidFields."""
    faults = Faults()
    pools = Pool.objects.for_team(team_id)
    faults.add("name", name_fault(pools, given.name, own.pk if own else None))
    if own is not None and own.is_default and not given.is_default:
        faults.add("is_default", "make another pool the default instead")
    _check_workers(team_id, given, faults)
    conductors = Conductor.objects.for_team(team_id)
    wanted = given.conductor_id
    if wanted is not None and not conductors.filter(id=wanted).exists():
        faults.add("conductor_id", UNKNOWN)
    if not limits:
        faults.add("tiers", "a pool needs at least one tier")
    for name, row in limits.items():
        planner = TierPlanner(row["planner"])
        if planner.has_conductor and wanted is None:
            faults.add(
                f"tiers.{name}.planner", "the pool has no conductor to plan with"
            )
        if planner.is_light and (own is None or own.planner_version_id is None):
            faults.add(f"tiers.{name}.planner", NO_LIGHT_PLANNER)
        if row["max_calls"] < row["max_steps"]:
            faults.add(f"tiers.{name}.max_calls", "must be at least max_steps")
    faults.raise_any()


def _check_workers(team_id: uuid.UUID, given: PoolInput, faults: Faults) -> None:
    ids = given.worker_ids
    rows = Worker.objects.for_team(team_id).filter(id__in=ids)
    known: dict[uuid.UUID, str] = dict(rows.values_list("id", "kind"))
    for place, worker_id in enumerate(ids):
        if worker_id not in known:
            faults.add(f"worker_ids[{place}]", UNKNOWN)
        elif worker_id in ids[:place]:
            faults.add(f"worker_ids[{place}]", "is in the pool already")
    if given.fallback_id not in ids:
        faults.add("fallback_id", "must be one of the pool's workers")
    elif known.get(given.fallback_id) == WorkerKind.EMBEDDING:
        faults.add("fallback_id", "makes embeddings, so it answers no conversation")
    for place, worker_id in enumerate(given.no_substitute_ids):
        if worker_id not in ids:
            faults.add(
                f"no_substitute_ids[{place}]", "must be one of the pool's workers"
            )


def _put(pool: Pool, given: PoolInput, limits: Limits, *, is_default: bool) -> None:
    """Write the pool with its places and tiers."""
    if is_default:
        # First the others, or the constraint on one default refuses.
        _others(pool.team_id, pool).filter(is_default=True).update(is_default=False)
    pool.name = given.name
    pool.is_default = is_default
    pool.conductor_id = given.conductor_id
    pool.fallback_id = given.fallback_id
    pool.retries_refusals = given.retries_refusals
    pool.save()
    spared = set(given.no_substitute_ids)
    places_put(pool, {one: one not in spared for one in given.worker_ids})
    tiers = Tier.objects.for_team(pool.team_id).filter(pool=pool)
    tiers.exclude(name__in=list(limits)).delete()
    for name, row in limits.items():
        tiers.update_or_create(
            name=name,
            defaults=row,
            create_defaults={**row, "team_id": pool.team_id, "pool": pool},
        )
