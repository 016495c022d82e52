"""Changes of a team's default pool, as people make them, for tests of its versions."""

from __future__ import annotations

from typing import Any

from apps.accounts.models import Team
from apps.pools.models import Pool, Worker
from apps.pools.selectors import access_pool, access_worker, pool_list
from apps.pools.services import pool_update, worker_update
from tests.factories import ACTOR


def pool_now(team: Team) -> Pool:
    """Return the default pool as it is now."""
    return access_pool(team.id, pool_list(team.id).get(is_default=True).id)


def change_pool(team: Team, **values: Any) -> Pool:
    """Change the default pool; return it at its new version."""
    return pool_update(pool=pool_now(team), values=values, actor=ACTOR)


def change_worker(team: Team, name: str, **values: Any) -> Worker:
    """Change a worker of the team, and so the versions of its pools."""
    row = team.workers.get(name=name)
    worker = access_worker(team.id, row.id)
    return worker_update(worker=worker, values=values, actor=ACTOR)
