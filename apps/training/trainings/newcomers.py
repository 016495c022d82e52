"""Workers of a pool that its light planner does not know, or as another model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import Conflict
from apps.planners.light.fingerprints import changed_workers, renamed_workers
from apps.pools.models import PlannerVersion, Pool, Worker, WorkerKind
from apps.pools.selectors import (
    planner_versions,
    pool_fingerprints,
    served_since,
    worker_fingerprint,
)


@dataclass(frozen=True, slots=True)
class UnknownWorker:
    """A worker whose present model a light planner knows nothing of, or little."""

    name: str
    is_changed: bool
    """True: the planner knows another model under its name."""
    changed_at: datetime | None
    """Since when it has its present model. None: it was not changed, or the pool's
    versions do not go back so far."""


@dataclass(frozen=True, slots=True)
class ChangedIn:
    """A pool whose light planner in use knows another model under a worker's name."""

    pool: Pool
    changed_at: datetime | None
    """As of `UnknownWorker`."""

    @property
    def is_site_default(self) -> bool:
        """Say whether the version in use is the site's default."""
        version = self.pool.planner_version
        return version is not None and version.is_site_default


def present_version(pool: Pool) -> PlannerVersion | None:
    """Return the version in use; else the newest one; None: there is none."""
    return pool.planner_version or planner_versions(pool).first()


def unknown_workers(pool: Pool) -> list[UnknownWorker]:
    """Return the workers of a pool that its fitted version does not know, by name.

    So are those whose model is another one than it knows. Empty as well if there is no
    such version: then there is nothing to add them to.
    """
    version = present_version(pool)
    if version is None or version.is_site_default:
        return []
    workers = pool.workers.filter(is_enabled=True, kind=WorkerKind.CHAT)
    fingerprints, now = version.fingerprints, pool_fingerprints(pool)
    known = {name: fingerprints.get(name, "") for name in version.fit["workers"]}
    changed = changed_workers(known, now)
    met = {*known, *renamed_workers(known, now).values()}
    return [
        _unknown(pool, worker, worker.name in changed)
        for worker in workers.order_by("name")
        if worker.name in changed or worker.name not in met
    ]


def _unknown(pool: Pool, worker: Worker, is_changed: bool) -> UnknownWorker:
    since = served_since(pool, worker) if is_changed else None
    return UnknownWorker(worker.name, is_changed, since)


def changed_in(worker: Worker) -> Iterator[ChangedIn]:
    """Yield the pools that plan as if a worker still were another model."""
    now = {worker.name: worker_fingerprint(worker)}
    pools = worker.pools.filter(planner_version__isnull=False)
    for pool in pools.select_related("planner_version").order_by("name"):
        version = pool.planner_version
        if version is not None and changed_workers(version.fingerprints, now):
            yield ChangedIn(pool, served_since(pool, worker))


def require_fitted(pool: Pool) -> None:
    """Raises: Conflict if there is no version that a newcomer can be added to."""
    version = present_version(pool)
    if version is None or version.is_site_default:
        raise Conflict(
            f"pool {pool.name!r} has no light planner that was fitted on its runs: "
            "train one, with all its workers"
        )
