"""What the form of an evaluation offers first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import urlencode

from apps.evaluation.models import Suite
from apps.pools.models import Pool

BENCHMARK_POOL = "benchmark"
"""The name in `docs/pools/benchmark.yaml`: its workers know the simulated tasks."""


def usual_pool(suite: Suite, pools: Collection[Pool]) -> str:
    """Return the pool for a suite: the benchmark's for its tasks, else the default."""
    names = {pool.name for pool in pools}
    if suite.is_simulated and BENCHMARK_POOL in names:
        return BENCHMARK_POOL
    default = (pool.name for pool in pools if pool.is_default)
    return next(default, next(iter(names)))


def sample_comparison(suites: Iterable[Suite], pools: Iterable[Pool]) -> str:
    """Return the query of the form for a simulated comparison; empty: there is none."""
    suite = next((suite.name for suite in suites if suite.is_simulated), None)
    if suite is None or BENCHMARK_POOL not in {pool.name for pool in pools}:
        return ""
    return urlencode({"suite": suite, "pool": BENCHMARK_POOL})
