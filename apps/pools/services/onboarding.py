"""Creates a model together with its credential and its places in pools.

Each function saves everything or, if any part is refused, nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import InvalidFields
from apps.pools.models import (
    Conductor,
    Pool,
    TierName,
    TierPlanner,
    Worker,
    WorkerKind,
)
from apps.pools.selectors import access_pool, conductor_list, pool_list
from apps.pools.services.credentials import credential_keep
from apps.pools.services.pools import pool_create, pool_update
from apps.pools.services.workers import worker_create

FIRST_POOL = "main"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A provider's API key that comes with the model that uses it."""

    name: str
    """The wanted name; a number is added if it is taken."""
    secret: str = field(repr=False)


@transaction.atomic
def worker_onboard(
    *,
    team: Team,
    values: Mapping[str, Any],
    credential: NewCredential | None,
    pool_ids: Iterable[uuid.UUID],
    starts_pool: bool,
    actor: Actor,
) -> Worker:
    """Create a worker with its credential, and add it as the last of some pools.

    `starts_pool`: make a new pool of it as well. Raises: InvalidFields; NotFound for a
    pool of another team.
    """
    worker = save_with_credential(
        team=team,
        values=values,
        credential=credential,
        actor=actor,
        save=lambda known: worker_create(team=team, values=known, actor=actor),
    )
    for pool_id in pool_ids:
        _add_place(access_pool(team.id, pool_id), worker, actor)
    if starts_pool:
        conductor = conductor_list(team.id).first()
        pool_start(team=team, workers=[worker], conductor=conductor, actor=actor)
    return worker


@transaction.atomic
def save_with_credential(
    *,
    team: Team,
    values: Mapping[str, Any],
    credential: NewCredential | None,
    actor: Actor,
    save: Callable[[Mapping[str, Any]], T],
) -> T:
    """Store a credential, if there is one, and save the model that uses it.

    A key that is stored for the address already is used again. `save` creates or
    updates the model of these values. Raises: InvalidFields, with the names of the
    model's fields.
    """
    if credential is None:
        return save(values)
    row = credential_keep(
        team=team,
        values={
            "name": credential.name,
            "base_url": values["base_url"],
            "secret": credential.secret,
        },
        actor=actor,
    )
    return save({**values, "credential_id": row.id})


def pool_start(
    *,
    team: Team,
    workers: Sequence[Worker],
    conductor: Conductor | None,
    actor: Actor,
    is_default: bool = False,
) -> Pool:
    """Create a pool of these workers that can take prompts at once.

    It is the default if it is the first, or if that is asked. With a conductor it has
    both tiers; without one a single worker answers. The first worker that answers
    conversations is the fallback. Raises: InvalidFields if there is no such worker.
    """
    answering = [each for each in workers if each.kind == WorkerKind.CHAT]
    if not answering:
        raise InvalidFields(
            {"worker_ids": ["add a worker first: one that answers prompts"]}
        )
    planner = TierPlanner.SINGLE_WORKER if conductor is None else TierPlanner.CONDUCTOR
    plain = {"planner": planner.value}
    return pool_create(
        team=team,
        values={
            "name": FIRST_POOL,
            "is_default": is_default or not pool_list(team.id).exists(),
            "conductor_id": None if conductor is None else conductor.id,
            "worker_ids": [worker.id for worker in workers],
            "fallback_id": answering[0].id,
            "tiers": {
                TierName.MINI.value: plain,
                TierName.ULTRA.value: None if conductor is None else plain,
            },
        },
        actor=actor,
    )


def _add_place(pool: Pool, worker: Worker, actor: Actor) -> None:
    ids = list(pool.places.values_list("worker_id", flat=True))
    pool_update(pool=pool, values={"worker_ids": [*ids, worker.id]}, actor=actor)
