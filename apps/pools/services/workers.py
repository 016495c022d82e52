"""Changes to workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Team
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import Conflict
from apps.pools.models import EMBEDDING_PROTOCOLS, Pool, Worker, WorkerKind
from apps.pools.pool_transaction import PoolChange, differences, pool_change
from apps.pools.selectors import access_worker
from apps.pools.serializers import recorded_values, worker_values
from apps.pools.service_inputs import WorkerInput
from apps.pools.services.endpoints import endpoint_create, endpoint_update
from apps.pools.validation import Faults


def worker_create(
    *,
    team: Team,
    values: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
) -> Worker:
    """Create a worker. It works for no pool yet.

    `within` is the key that makes the change; None if a person does. Raises:
    InvalidFields; NotAllowed for a price that `within` cannot set.
    """
    with pool_change(team.id, actor, within=within) as change:
        row = endpoint_create(Worker, WorkerInput, team, values)
        _check_kind(row)
        change.record("worker.created", row, after=recorded_values(row))
    return access_worker(team.id, row.id)


def worker_update(
    *,
    worker: Worker,
    values: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
) -> Worker:
    """Change the given values of a worker, in every pool it works for.

    A price without a day is in force from today; null makes it unknown. Changes for
    runs that begin afterwards. `within` is the key that makes the change; None if a
    person does. Raises: InvalidFields; NotAllowed for a price that `within` cannot set;
    NotFound.
    """
    with pool_change(worker.team_id, actor, within=within) as change:
        return worker_put(change, worker, values)


def worker_put(change: PoolChange, worker: Worker, values: Mapping[str, Any]) -> Worker:
    """Change the given values of a worker as a part of a change.

    Raises: as `worker_update`.
    """
    row = access_worker(worker.team_id, worker.id)
    before = recorded_values(row)
    endpoint_update(row, WorkerInput, worker_values(row), values)
    row = access_worker(worker.team_id, worker.id)
    _check_kind(row)
    changed = differences(before, recorded_values(row))
    if changed:
        change.record("worker.updated", row, **changed)
    return row


def worker_delete(*, worker: Worker, actor: Actor) -> None:
    """Delete a worker and its prices. Raises: Conflict while in a pool, NotFound."""
    team_id = worker.team_id
    with pool_change(team_id, actor) as change:
        row = access_worker(team_id, worker.id)
        pools = Pool.objects.for_team(team_id).filter(places__worker=row)
        names = [repr(name) for name in pools.values_list("name", flat=True)]
        if names:
            raise Conflict(f"worker {row.name!r} works for pool {', '.join(names)}")
        change.record("worker.deleted", row, before=recorded_values(row))
        row.delete()


def _check_kind(row: Worker) -> None:
    """Refuse embeddings where there can be none. Raises: InvalidFields."""
    if row.kind != WorkerKind.EMBEDDING:
        return
    faults = Faults()
    if row.protocol not in EMBEDDING_PROTOCOLS:
        faults.add("kind", "the protocol of this worker has no embeddings")
    pools = Pool.objects.for_team(row.team_id).filter(fallback=row)
    if names := [repr(name) for name in pools.values_list("name", flat=True)]:
        faults.add("kind", f"it is the fallback of pool {', '.join(names)}")
    faults.raise_any()
