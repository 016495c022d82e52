"""Workers of a pool that its light planner does not know."""

from __future__ import annotations

from apps.core.errors import Conflict
from apps.pools.models import PlannerVersion, Pool, WorkerKind
from apps.pools.selectors import planner_versions


def present_version(pool: Pool) -> PlannerVersion | None:
    """Return the version in use; else the newest one; None: there is none."""
    return pool.planner_version or planner_versions(pool).first()


def unknown_workers(pool: Pool) -> list[str]:
    """Return the workers of a pool that its fitted version does not know, by name.

    Empty as well if there is no such version: then there is nothing to add them to.
    """
    version = present_version(pool)
    if version is None or version.is_site_default:
        return []
    workers = pool.workers.filter(is_enabled=True, kind=WorkerKind.CHAT)
    names = workers.order_by("name").values_list("name", flat=True)
    return [name for name in names if name not in version.fit["workers"]]


def require_fitted(pool: Pool) -> None:
    """Raises: Conflict if there is no version that a newcomer can be added to."""
    version = present_version(pool)
    if version is None or version.is_site_default:
        raise Conflict(
            f"pool {pool.name!r} has no light planner that was fitted on its runs: "
            "train one, with all its workers"
        )
