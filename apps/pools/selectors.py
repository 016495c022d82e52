"""Reads of pools. `pool_snapshot` is how a run gets to know its models and keys."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TypeVar

from django.db import models
from django.db.models import QuerySet
from django.utils import timezone

from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.pools.credentials import credential_try
from apps.pools.history.served_workers import (
    PoolPlace,
    ServedWorker,
    served_since,
    served_workers,
)
from apps.pools.history.setups import setup_now, version_setup
from apps.pools.history.versions import pool_version_changes
from apps.pools.light_planners.loading import fitted_model, light_planner
from apps.pools.model_fingerprints import pool_fingerprints, worker_fingerprint
from apps.pools.models import (
    BrokenPromise,
    Conductor,
    Credential,
    PlannerVersion,
    Pool,
    PoolVersion,
    Price,
    PriceList,
    Worker,
)
from apps.pools.planning import conductor_planner, worker_description
from apps.pools.planning_notices import planning_notices
from apps.pools.prices.catalog_cache import price_book
from apps.pools.prices.missing import models_without_price
from apps.pools.providers.known_providers import (
    KNOWN_PROVIDERS,
    policy_tags,
    provider_of_key,
    provider_tag,
)
from apps.pools.serializers import (
    conductor_values,
    credential_values,
    list_price_values,
    pool_values,
    price_in_force,
    worker_values,
)
from apps.pools.snapshots import (
    SnapshotKey,
    conductor_snapshot,
    endpoint_of,
    peek_snapshot,
    pool_snapshot,
    protocol_of,
    snapshots_forget,
)
from apps.pools.types import (
    HealthState,
    KnownProvider,
    ListPrice,
    TestResult,
    TrialStep,
    WorkerHealth,
)

__all__ = [
    "PoolPlace",
    "ServedWorker",
    "SnapshotKey",
    "abilities_not_as_set",
    "access_conductor",
    "access_credential",
    "access_pool",
    "access_pool_version",
    "access_worker",
    "broken_promises",
    "conductor_list",
    "conductor_planner",
    "conductor_snapshot",
    "conductor_urls",
    "conductor_values",
    "credential_list",
    "credential_values",
    "credentials_try",
    "endpoint_of",
    "fitted_model",
    "known_provider_list",
    "last_test",
    "light_planner",
    "list_price",
    "list_price_values",
    "models_without_price",
    "output_prices",
    "peek_snapshot",
    "planner_version",
    "planner_versions",
    "planning_notices",
    "policy_tags",
    "pool_fingerprints",
    "pool_list",
    "pool_snapshot",
    "pool_values",
    "pool_version_changes",
    "pool_versions",
    "price_in_force",
    "price_list_checked_at",
    "protocol_of",
    "provider_of_key",
    "provider_tag",
    "served_since",
    "served_workers",
    "setup_now",
    "snapshots_forget",
    "version_setup",
    "worker_description",
    "worker_fingerprint",
    "worker_health",
    "worker_list",
    "worker_values",
]

DEGRADED_ONE_IN = 10
"""One failure in so many calls is more than a provider's usual bad luck."""

RowT = TypeVar("RowT", bound=models.Model)


def pool_list(team_id: uuid.UUID) -> QuerySet[Pool]:
    """Return a team's pools with their tiers, by name."""
    return Pool.objects.for_team(team_id).prefetch_related("tiers")


def credential_list(team_id: uuid.UUID) -> QuerySet[Credential]:
    """Return a team's credentials by name; their secrets stay sealed."""
    return Credential.objects.for_team(team_id).order_by("name", "host")


def planner_version(pool: Pool, number: int) -> PlannerVersion:
    """Return a version of a pool's light planner. Raises: NotFound."""
    kept = PlannerVersion.objects.for_team(pool.team_id).filter(pool=pool)
    found = kept.filter(number=number).first()
    if found is None:
        raise NotFound(
            f"pool {pool.name!r} has no version {number} of its light planner"
        )
    return found


def planner_versions(pool: Pool) -> TeamQuerySet[PlannerVersion]:
    """Return the versions of a pool's light planner, the newest first."""
    rows = PlannerVersion.objects.for_team(pool.team_id).filter(pool=pool)
    return rows.order_by("-number").defer("sealed")


def broken_promises(
    team_id: uuid.UUID, since: dt.datetime
) -> TeamQuerySet[BrokenPromise]:
    """Return what planners in use promised wrongly, as noticed since a moment.

    Those that were dismissed are left out.
    """
    in_use = Pool.objects.for_team(team_id).values("planner_version")
    rows = BrokenPromise.objects.for_team(team_id).filter(version__in=in_use)
    return rows.filter(noticed_at__gte=since, dismissed_at=None)


def worker_list(team_id: uuid.UUID) -> QuerySet[Worker]:
    """Return a team's workers by name, with credential, prices and pools."""
    workers = Worker.objects.for_team(team_id).select_related("credential")
    return workers.prefetch_related("prices", "pools", "profiles")


def output_prices(team_id: uuid.UUID) -> dict[str, int]:
    """Return what a team's workers charge for a million tokens that they write.

    In micro-dollars, by name; workers without a price are left out.
    """
    today = timezone.now().date()
    rows = Price.objects.for_team(team_id).filter(
        worker__isnull=False, valid_from__lte=today
    )
    by_day = rows.order_by("valid_from")
    return dict(by_day.values_list("worker__name", "output_micros"))


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


def conductor_urls(limit: int) -> list[str]:
    """Return the base addresses of all teams' conductors, each once, for checks."""
    rows = Conductor.objects.across_teams().order_by("base_url")
    return list(rows.values_list("base_url", flat=True).distinct()[:limit])


def credentials_try() -> None:
    """Open every stored key of a provider, for checks. Raises: SecretUnreadable."""
    for credential in Credential.objects.across_teams().iterator():
        credential_try(credential)


def access_conductor(team_id: uuid.UUID, conductor_id: uuid.UUID) -> Conductor:
    """Return a conductor of the team. Raises: NotFound."""
    return _access(conductor_list(team_id), conductor_id, "conductor")


def access_pool(team_id: uuid.UUID, pool_id: uuid.UUID) -> Pool:
    """Return a pool of the team, with its models and tiers. Raises: NotFound."""
    pools = pool_list(team_id).select_related("conductor", "fallback")
    pools = pools.prefetch_related("places__worker__prices", "places__worker__profiles")
    return _access(pools, pool_id, "pool")


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
    plan = tuple(
        TrialStep(step["worker"], step["subtask"], tuple(step["access"]))
        for step in kept.get("plan", ())
    )
    return TestResult(**{**kept, "tested_at": tested_at, "plan": plan})


def abilities_not_as_set(worker: Worker) -> dict[str, bool]:
    """Return what a worker's last test found to be other than it is set."""
    result = last_test(worker)
    abilities = result.abilities if result and result.ok else {}
    return {
        name: has for name, has in abilities.items() if has != getattr(worker, name)
    }


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


def known_provider_list() -> tuple[KnownProvider, ...]:
    """Return the well-known providers and servers."""
    return KNOWN_PROVIDERS


def list_price(base_url: str, model: str) -> ListPrice | None:
    """Return what everybody pays for a model at an address; None: unknown.

    Costs half a second in a process that asks for the first time.
    """
    return price_book().price(base_url, model)


def price_list_checked_at() -> dt.datetime | None:
    """Return when the stored price list was last known to be new; None: there is none.

    Only a site with PRICE_LIST_URL has one.
    """
    return PriceList.objects.values_list("checked_at", flat=True).first()


def _access(rows: QuerySet[RowT], row_id: uuid.UUID, what: str) -> RowT:
    row = rows.filter(pk=row_id).first()
    if row is None:
        raise NotFound(f"this team has no such {what}")
    return row
