"""Reads of pools. `pool_snapshot` is how a run gets to know its models and keys."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from types import MappingProxyType
from typing import TypeVar

from django.conf import settings
from django.db import models
from django.db.models import QuerySet

from apps.core.errors import NotFound
from apps.core.recent import Recent
from apps.llm import types
from apps.llm.types import Endpoint, Timeouts
from apps.pools.credentials import credential_open
from apps.pools.errors import PoolUnusable
from apps.pools.models import (
    Conductor,
    Credential,
    Pool,
    PoolVersion,
    PoolWorker,
    Price,
    Tier,
    Worker,
)
from apps.pools.presets import PRESETS
from apps.pools.types import (
    ConductorSnapshot,
    HealthState,
    PoolSnapshot,
    Preset,
    PriceSnapshot,
    TestResult,
    TierSnapshot,
    WorkerHealth,
    WorkerSnapshot,
)
from apps.pools.values import (
    conductor_values,
    credential_values,
    pool_values,
    price_in_force,
    worker_values,
)
from apps.pools.versions import pool_version_changes

__all__ = [
    "access_conductor",
    "access_credential",
    "access_pool",
    "access_pool_version",
    "access_worker",
    "conductor_list",
    "conductor_values",
    "credential_list",
    "credential_values",
    "endpoint_of",
    "last_test",
    "peek_snapshot",
    "pool_list",
    "pool_snapshot",
    "pool_values",
    "pool_version_changes",
    "pool_versions",
    "preset_list",
    "snapshots_forget",
    "worker_health",
    "worker_list",
    "worker_values",
]

DEGRADED_ONE_IN = 10
"""One failure in so many calls is more than a provider's usual bad luck."""

RowT = TypeVar("RowT", bound=models.Model)

_snapshots: Recent[tuple[uuid.UUID, str | None], PoolSnapshot] = Recent()
"""By team and name of the pool; None: the team's default."""


def snapshots_forget(team_id: uuid.UUID) -> None:
    """Forget what is remembered of a team's pools, after a change."""
    _snapshots.drop(lambda key, _: key[0] == team_id)


def pool_list(team_id: uuid.UUID) -> QuerySet[Pool]:
    """Return a team's pools with their tiers, by name."""
    return Pool.objects.for_team(team_id).prefetch_related("tiers")


def credential_list(team_id: uuid.UUID) -> QuerySet[Credential]:
    """Return a team's credentials by name; their secrets stay sealed."""
    return Credential.objects.for_team(team_id).order_by("name", "host")


def worker_list(team_id: uuid.UUID) -> QuerySet[Worker]:
    """Return a team's workers by name, with credential, prices and pools."""
    workers = Worker.objects.for_team(team_id).select_related("credential")
    return workers.prefetch_related("prices", "pools")


def conductor_list(team_id: uuid.UUID) -> QuerySet[Conductor]:
    """Return a team's conductors by name, with credential, prices and pools."""
    conductors = Conductor.objects.for_team(team_id).select_related("credential")
    return conductors.prefetch_related("prices", "pools")


def access_credential(team_id: uuid.UUID, credential_id: uuid.UUID) -> Credential:
    """Return a credential of the team. Raises: NotFound."""
    return _access(credential_list(team_id), credential_id, "credential")


def access_worker(team_id: uuid.UUID, worker_id: uuid.UUID) -> Worker:
    """Return a worker of the team. Raises: NotFound."""
    return _access(worker_list(team_id), worker_id, "worker")


def access_conductor(team_id: uuid.UUID, conductor_id: uuid.UUID) -> Conductor:
    """Return a conductor of the team. Raises: NotFound."""
    return _access(conductor_list(team_id), conductor_id, "conductor")


def access_pool(team_id: uuid.UUID, pool_id: uuid.UUID) -> Pool:
    """Return a pool of the team, with its models and tiers. Raises: NotFound."""
    pools = pool_list(team_id).select_related("conductor", "fallback")
    return _access(pools.prefetch_related("places__worker__prices"), pool_id, "pool")


def pool_versions(team_id: uuid.UUID, pool_id: uuid.UUID) -> QuerySet[PoolVersion]:
    """Return the versions of a pool that are written down, the newest first."""
    return PoolVersion.objects.for_team(team_id).filter(pool_id=pool_id)


def access_pool_version(
    team_id: uuid.UUID, pool_id: uuid.UUID, version: int
) -> PoolVersion:
    """Return one version of a pool. Raises: NotFound."""
    row = pool_versions(team_id, pool_id).filter(version=version).first()
    if row is None:
        raise NotFound(f"this pool has no version {version}")
    return row


def last_test(model: Worker | Conductor) -> TestResult | None:
    """Return how the last test of a model went; None: it was never tested."""
    kept = model.last_test
    if not kept:
        return None
    tested_at = dt.datetime.fromisoformat(kept["tested_at"])
    return TestResult(**{**kept, "tested_at": tested_at})


def worker_health(
    worker: Worker,
    *,
    calls: int = 0,
    failures: int = 0,
    latency_ms: int | None = None,
    is_resting: bool = False,
) -> WorkerHealth:
    """Judge a worker by its last test and the calls of the last day."""
    test = last_test(worker)
    if latency_ms is None and test is not None:
        latency_ms = test.latency_ms
    state = _health_state(worker, test, calls, failures)
    if is_resting and worker.is_enabled:
        state = HealthState.RESTING
    return WorkerHealth(state, calls, failures, latency_ms, test)


def _health_state(
    worker: Worker, test: TestResult | None, calls: int, failures: int
) -> HealthState:
    if not worker.is_enabled:
        return HealthState.DISABLED
    if calls:
        if failures * 2 >= calls:
            return HealthState.FAILING
        many = failures * DEGRADED_ONE_IN >= calls
        return HealthState.DEGRADED if many else HealthState.HEALTHY
    if test is None:
        return HealthState.UNTESTED
    return HealthState.HEALTHY if test.ok else HealthState.FAILING


def preset_list() -> tuple[Preset, ...]:
    """Return the well-known providers and servers."""
    return PRESETS


def _access(rows: QuerySet[RowT], row_id: uuid.UUID, what: str) -> RowT:
    row = rows.filter(pk=row_id).first()
    if row is None:
        raise NotFound(f"this team has no such {what}")
    return row


def peek_snapshot(team_id: uuid.UUID, name: str | None = None) -> PoolSnapshot | None:
    """Return a recently read snapshot, without touching the database.

    For the event loop: never blocks. None says nothing about the pool; ask
    `pool_snapshot` in a thread.
    """
    return _snapshots.get((team_id, name))


def pool_snapshot(team_id: uuid.UUID, name: str | None = None) -> PoolSnapshot:
    """Return a pool of the team, the default one if `name` is None. Blocks.

    Raises: NotFound; PoolUnusable if every worker is disabled; CredentialMismatch or
    SecretUnreadable if a credential cannot be used.
    """
    found = peek_snapshot(team_id, name)
    if found is not None:
        return found
    generation = _snapshots.generation
    snapshot = _read_snapshot(team_id, name)
    _snapshots.put((team_id, name), snapshot, generation=generation)
    return snapshot


def _read_snapshot(team_id: uuid.UUID, name: str | None) -> PoolSnapshot:
    pool = _find(team_id, name)
    places = pool.places.select_related("worker__credential").prefetch_related(
        "worker__prices"
    )
    workers = tuple(_worker(place) for place in places if place.worker.is_enabled)
    if not workers:
        raise PoolUnusable(f"every worker of pool {pool.name!r} is disabled")
    snapshot = PoolSnapshot(
        id=pool.id,
        team_id=team_id,
        name=pool.name,
        version=pool.version,
        workers=workers,
        fallback=_fallback(pool, workers),
        conductor=None if pool.conductor is None else _conductor(pool.conductor),
        tiers=MappingProxyType({tier.name: _tier(tier) for tier in pool.tiers.all()}),
    )
    same_version = Pool.objects.for_team(team_id).filter(
        id=pool.id, version=pool.version
    )
    if not same_version.exists():
        # It was changed between our queries: this snapshot may mix two versions.
        return _read_snapshot(team_id, name)
    return snapshot


def _find(team_id: uuid.UUID, name: str | None) -> Pool:
    pools = Pool.objects.for_team(team_id).select_related(
        "fallback", "conductor__credential"
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


def _fallback(pool: Pool, workers: tuple[WorkerSnapshot, ...]) -> str:
    """Return the fallback's name; while it is disabled the first worker stands in."""
    return pool.fallback.name if pool.fallback.is_enabled else workers[0].name


def _worker(place: PoolWorker) -> WorkerSnapshot:
    worker = place.worker
    return WorkerSnapshot(
        id=worker.id,
        name=worker.name,
        endpoint=endpoint_of(worker),
        price=_price(worker.prices.all()),
        description=worker.description,
        max_output_tokens=worker.max_output_tokens,
        context_tokens=worker.context_tokens,
        accepts_images=worker.accepts_images,
        accepts_tools=worker.accepts_tools,
        accepts_prefill=worker.accepts_prefill,
        may_substitute=place.may_substitute,
    )


def _conductor(conductor: Conductor) -> ConductorSnapshot:
    warmth = conductor.temperature
    return ConductorSnapshot(
        id=conductor.id,
        name=conductor.name,
        endpoint=endpoint_of(conductor),
        price=_price(conductor.prices.all()),
        mode=conductor.mode,
        shows_descriptions=conductor.shows_descriptions,
        uses_prefill=conductor.uses_prefill,
        max_output_tokens=conductor.max_output_tokens,
        temperature=None if warmth is None else float(warmth),
        context_tokens=conductor.context_tokens,
    )


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
            idle_s=model.idle_timeout_s or settings.WORKER_IDLE_TIMEOUT_S,
            total_s=model.total_timeout_s or settings.WORKER_TOTAL_TIMEOUT_S,
        ),
        max_tokens_field=model.max_tokens_field,
        protocol=protocol_of(model.protocol),
    )


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
    return TierSnapshot(
        name=tier.name,
        planner=tier.planner,
        max_steps=tier.max_steps,
        max_rounds=tier.max_rounds,
        max_parallel=tier.max_parallel,
        max_calls=tier.max_calls,
        max_tokens=tier.max_tokens,
        max_cost_micros=tier.max_cost_micros,
        wall_time_s=tier.wall_time_s,
        delivery=tier.delivery,
        is_hedged=tier.is_hedged,
    )
