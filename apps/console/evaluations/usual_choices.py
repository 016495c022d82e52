"""What the form of an evaluation offers first."""

from __future__ import annotations

from collections.abc import Collection

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.evaluation.models import Suite
from apps.pools.models import Pool, PoolVersion
from apps.pools.selectors import pool_versions

OFFERED = 50
"""Earlier versions of a pool, the newest."""
BENCHMARK_POOL = "benchmark"
"""The name in `docs/pools/benchmark.yaml`: its workers know the simulated tasks."""


def usual_pool(suite: Suite, pools: Collection[Pool]) -> str:
    """Return the pool for a suite: the benchmark's for its tasks, else the default."""
    names = {pool.name for pool in pools}
    if suite.is_simulated and BENCHMARK_POOL in names:
        return BENCHMARK_POOL
    default = (pool.name for pool in pools if pool.is_default)
    return next(default, next(iter(names)))


def version_choices(pool: Pool) -> list[tuple[str, str]]:
    """Return the earlier versions of a pool, the newest first, in words."""
    earlier = pool_versions(pool.team_id, pool.id).filter(version__lt=pool.version)
    return [(str(row.version), _version_words(row)) for row in earlier[:OFFERED]]


def _version_words(row: PoolVersion) -> str:
    made = f"{timezone.localtime(row.created_at):%Y-%m-%d %H:%M}"
    if not row.actor_name:
        return _("Version {number}, {made}").format(number=row.version, made=made)
    return _("Version {number}, {made} by {person}").format(
        number=row.version, made=made, person=row.actor_name
    )
