"""A pool as a run needs it, read once and remembered for a moment.

A change of the team's pools forgets what this process remembers; other processes do so
within `CACHE_SECONDS`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TypeVar

from django.conf import settings

from apps.core.errors import NotFound
from apps.core.ttl_cache import TtlCache
from apps.llm import types
from apps.llm.types import Endpoint, Timeouts
from apps.pools.attributes import ConductorAttributes, WorkerAttributes
from apps.pools.credentials import credential_open
from apps.pools.errors import PoolUnusable
from apps.pools.history.past_rows import PastPool, past_pool
from apps.pools.light_planners.loading import planner_snapshot
from apps.pools.model_fingerprints import worker_fingerprint
from apps.pools.models import (
    Conductor,
    Pool,
    Price,
    Tier,
    TierPlanner,
    Worker,
    WorkerKind,
)
from apps.pools.serializers import price_in_force
from apps.pools.types import (
    ConductorSnapshot,
    PoolSnapshot,
    PriceSnapshot,
    TierSnapshot,
    WorkerSnapshot,
)
from apps.pools.worker_figures.outcomes import WorkerOutcome, outcome_card, outcomes_of
from apps.pools.worker_figures.profiles import present_profiles, profile_card

Outcomes = Mapping[uuid.UUID, Sequence[WorkerOutcome]]
ShapeT = TypeVar("ShapeT", WorkerAttributes, ConductorAttributes)

SnapshotKey = tuple[uuid.UUID, str | None, str, int | None]
_snapshots: TtlCache[SnapshotKey, PoolSnapshot] = TtlCache()
"""By the arguments of `pool_snapshot`."""


def snapshots_forget(team_id: uuid.UUID) -> None:
    """Forget what is remembered of a team's pools, after a change."""
    _snapshots.drop(lambda key, _: key[0] == team_id)


def peek_snapshot(
    team_id: uuid.UUID,
    name: str | None = None,
    conductor: str = "",
    version: int | None = None,
) -> PoolSnapshot | None:
    """Return a recently read snapshot, without touching the database.

    For the event loop: never blocks. None says nothing about the pool; ask
    `pool_snapshot` in a thread.
    """
    return _snapshots.get((team_id, name, conductor, version))


def pool_snapshot(
    team_id: uuid.UUID,
    name: str | None = None,
    conductor: str = "",
    version: int | None = None,
) -> PoolSnapshot:
    """Return a pool of the team, the default one if `name` is None. Blocks.

    `conductor` names another one of the team that plans, also for tiers of the light
    planner. Empty: the pool's own does.
    `version` is one of the pool's earlier ones, or the present one. None: whatever the
    present one is. Raises: NotFound; PoolUnusable if every worker is disabled, or if
    something that the version needs is gone; CredentialMismatch or SecretUnreadable if
    a credential cannot be used.
    """
    found = peek_snapshot(team_id, name, conductor, version)
    if found is not None:
        return found
    generation = _snapshots.generation
    if version is None:
        snapshot = _read_snapshot(team_id, name)
    else:
        snapshot = _read_version(team_id, name, version, has_planner=bool(conductor))
    if conductor:
        other = _find_conductor(team_id, conductor)
        snapshot = _planned_by(snapshot, conductor_snapshot(other))
    _snapshots.put((team_id, name, conductor, version), snapshot, generation=generation)
    return snapshot


def _planned_by(snapshot: PoolSnapshot, other: ConductorSnapshot) -> PoolSnapshot:
    """Return a pool for which another conductor plans, in every tier that plans."""
    tiers = {
        name: replace(tier, planner=str(TierPlanner.CONDUCTOR))
        if TierPlanner(tier.planner).is_light
        else tier
        for name, tier in snapshot.tiers.items()
    }
    return replace(snapshot, conductor=other, tiers=MappingProxyType(tiers))


def _read_snapshot(team_id: uuid.UUID, name: str | None) -> PoolSnapshot:
    pool = _find(team_id, name)
    places = pool.places.select_related("worker__credential").prefetch_related(
        "worker__prices", "worker__profiles"
    )
    enabled = [place for place in places if place.worker.is_enabled]
    ids = [place.worker_id for place in enabled]
    outcomes = _outcomes(team_id, pool.conductor, ids)
    workers = tuple(
        _worker(
            place.worker,
            place.worker.prices.all(),
            outcomes,
            may_substitute=place.may_substitute,
            measured=profile_card(present_profiles(place.worker)),
        )
        for place in enabled
    )
    if not workers:
        raise PoolUnusable(f"every worker of pool {pool.name!r} is disabled")
    snapshot = PoolSnapshot(
        id=pool.id,
        team_id=team_id,
        name=pool.name,
        version=pool.version,
        workers=workers,
        fallback=_fallback(pool.fallback.name, workers),
        conductor=None
        if pool.conductor is None
        else conductor_snapshot(pool.conductor),
        tiers=MappingProxyType({tier.name: _tier(tier) for tier in pool.tiers.all()}),
        retries_refusals=pool.retries_refusals,
        planner=planner_snapshot(pool.planner_version),
    )
    same_version = Pool.objects.for_team(team_id).filter(
        id=pool.id, version=pool.version
    )
    if not same_version.exists():
        # It was changed between our queries: this snapshot may mix two versions.
        return _read_snapshot(team_id, name)
    return snapshot


def _read_version(
    team_id: uuid.UUID, name: str | None, version: int, *, has_planner: bool
) -> PoolSnapshot:
    """Return a version of a pool; without its conductor if it has another planner."""
    pool = _find(team_id, name)
    if pool.version == version:
        snapshot = _read_snapshot(team_id, name)
        if snapshot.version == version:
            return snapshot  # else it has been changed between our queries
    past = past_pool(pool, version, with_conductor=not has_planner)
    workers = _past_workers(team_id, past)
    if not workers:
        raise PoolUnusable(
            f"every worker of version {version} of pool {pool.name!r} was disabled"
        )
    return PoolSnapshot(
        id=pool.id,
        team_id=team_id,
        name=pool.name,
        version=version,
        workers=workers,
        fallback=_fallback(past.fallback, workers),
        conductor=None
        if past.conductor is None
        else _conductor(past.conductor.row, past.conductor.prices),
        tiers=MappingProxyType({tier.name: _tier(tier) for tier in past.tiers}),
        retries_refusals=past.retries_refusals,
        planner=planner_snapshot(past.planner_version),
    )


def _past_workers(team_id: uuid.UUID, past: PastPool) -> tuple[WorkerSnapshot, ...]:
    enabled = [each for each in past.workers if each.model.row.is_enabled]
    ids = [each.model.row.id for each in enabled if each.model.is_present]
    planner = past.conductor.row if past.conductor else None
    outcomes = _outcomes(team_id, planner, ids)
    return tuple(
        _worker(
            each.model.row,
            each.model.prices,
            outcomes,
            may_substitute=each.may_substitute,
            measured=each.measured,
        )
        for each in enabled
    )


def _find(team_id: uuid.UUID, name: str | None) -> Pool:
    pools = Pool.objects.for_team(team_id).select_related(
        "fallback", "conductor__credential", "planner_version"
    )
    if name is None:
        pool = pools.filter(is_default=True).first()
        if pool is None:
            raise NotFound("this team has no default pool; import one")
        return pool
    pool = pools.filter(name=name).first()
    if pool is None:
        raise NotFound(f"this team has no pool {name!r}")
    return pool


def _find_conductor(team_id: uuid.UUID, name: str) -> Conductor:
    rows = Conductor.objects.for_team(team_id).select_related("credential")
    found = rows.filter(name=name).first()
    if found is None:
        raise NotFound(f"this team has no conductor {name!r}")
    return found


def _fallback(name: str, workers: tuple[WorkerSnapshot, ...]) -> str:
    """Return the fallback's name; while it is disabled the first worker stands in.

    Empty: no enabled worker answers conversations.
    """
    able = [w.name for w in workers if not w.endpoint.makes_embeddings]
    return name if name in able else next(iter(able), "")


def _outcomes(
    team_id: uuid.UUID, conductor: Conductor | None, worker_ids: Sequence[uuid.UUID]
) -> Outcomes:
    """Return how answers were judged, if the conductor is to read it."""
    if conductor is None or not conductor.shows_measurements:
        return {}
    return outcomes_of(team_id, worker_ids)


def _worker(
    worker: Worker,
    prices: Iterable[Price],
    outcomes: Outcomes,
    *,
    may_substitute: bool,
    measured: str,
) -> WorkerSnapshot:
    return WorkerSnapshot(
        id=worker.id,
        name=worker.name,
        endpoint=endpoint_of(worker),
        price=_price(prices),
        attributes=_attributes(WorkerAttributes, worker),
        may_substitute=may_substitute,
        measured=measured,
        in_production=outcome_card(outcomes.get(worker.id, ())),
        fingerprint=worker_fingerprint(worker),
    )


def conductor_snapshot(conductor: Conductor) -> ConductorSnapshot:
    """Return a conductor ready to be called, its key opened.

    Raises: CredentialMismatch, SecretUnreadable.
    """
    return _conductor(conductor, conductor.prices.all())


def _conductor(conductor: Conductor, prices: Iterable[Price]) -> ConductorSnapshot:
    return ConductorSnapshot(
        id=conductor.id,
        name=conductor.name,
        endpoint=endpoint_of(conductor),
        price=_price(prices),
        attributes=_attributes(ConductorAttributes, conductor),
    )


def _attributes(shape: type[ShapeT], row: Worker | Conductor) -> ShapeT:
    """Return a row's attributes unchecked: a row may be older than a bound."""
    values = {name: getattr(row, name) for name in shape.model_fields}
    lists = {n: tuple(value) for n, value in values.items() if isinstance(value, list)}
    return shape.model_construct(**{**values, **lists})


def endpoint_of(model: Worker | Conductor) -> Endpoint:
    """Return how a model is reached, its key opened.

    Raises: CredentialMismatch, SecretUnreadable.
    """
    key = None
    if model.credential is not None:
        key = credential_open(model.credential, base_url=model.base_url)
    return Endpoint(
        name=model.name,
        base_url=model.base_url,
        model=model.model,
        api_key=key,
        timeouts=Timeouts(
            connect_s=model.connect_timeout_s or settings.WORKER_CONNECT_TIMEOUT_S,
            first_byte_s=model.first_byte_timeout_s
            or settings.WORKER_FIRST_BYTE_TIMEOUT_S,
            first_token_s=model.first_token_timeout_s,
            assumed_first_token_s=_assumed_first_token_s(model),
            idle_s=model.idle_timeout_s or settings.WORKER_IDLE_TIMEOUT_S,
            total_s=model.total_timeout_s or settings.WORKER_TOTAL_TIMEOUT_S,
        ),
        max_tokens_field=model.max_tokens_field,
        protocol=protocol_of(model.protocol),
        default_params=model.default_params if isinstance(model, Worker) else None,
        extra_body=model.extra_body or None if isinstance(model, Worker) else None,
        makes_embeddings=(
            isinstance(model, Worker) and model.kind == WorkerKind.EMBEDDING
        ),
    )


def _assumed_first_token_s(model: Worker | Conductor) -> float | None:
    """Return how long a model may take to begin while its times are not known.

    None: no limit. So it is if its configuration says how long the first byte may take:
    that of a server which loads its model first.
    """
    if model.first_byte_timeout_s:
        return None
    return settings.WORKER_FIRST_TOKEN_TIMEOUT_S or None


def protocol_of(word: str) -> types.Protocol:
    """Return a protocol as calls name it."""
    match word:
        case "openai" | "anthropic" | "gemini":
            return word
    raise PoolUnusable(f"no call speaks the protocol {word!r}")


def _price(prices: Iterable[Price]) -> PriceSnapshot | None:
    price = price_in_force(prices)
    if price is None:
        return None
    return PriceSnapshot(
        price.input_micros, price.output_micros, price.cached_input_micros
    )


def _tier(tier: Tier) -> TierSnapshot:
    names = [field.name for field in fields(TierSnapshot)]
    return TierSnapshot(**{name: getattr(tier, name) for name in names})
