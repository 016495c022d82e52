"""Changes a pool and its models together, so that one new version comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.pools.history.setups import MODELS
from apps.pools.models import Pool
from apps.pools.pool_transaction import pool_change
from apps.pools.selectors import access_conductor, access_pool, access_worker
from apps.pools.services.conductors import conductor_put
from apps.pools.services.pools import pool_put
from apps.pools.services.workers import worker_put


def setup_put(
    *,
    pool: Pool,
    setup: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
    expected_version: int | None = None,
) -> Pool:
    """Give a pool and its models the values of a setup (`history/setups.py`).

    `within` is the key that makes the change; None if a person does. Raises:
    InvalidFields, NotFound; NotAllowed for a price that `within` cannot set;
    VersionConflict if the pool is not at `expected_version` any more.
    """
    team_id = pool.team_id
    values = {name: value for name, value in setup.items() if name not in MODELS}
    with pool_change(team_id, actor, within=within) as change:
        # The pool first: its version is checked, and grows only when the change ends.
        pool_put(change, pool, values, expected_version)
        for worker_id, given in setup.get("workers", {}).items():
            worker_put(change, access_worker(team_id, UUID(worker_id)), given)
        for conductor_id, given in setup.get("conductors", {}).items():
            conductor = access_conductor(team_id, UUID(conductor_id))
            conductor_put(change, conductor, given)
    return access_pool(team_id, pool.id)
