"""Bringing a model into a team in one go: its key, the model, a place in a pool.

All of it or nothing: a fault in any part leaves no half of the rest behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.console.forms.models import NEW_POOL
from apps.core.errors import InvalidFields
from apps.pools.models import Pool, TierName, TierPlanner, Worker
from apps.pools.selectors import access_pool, conductor_list, credential_list, pool_list
from apps.pools.services import (
    credential_create,
    pool_create,
    pool_update,
    worker_create,
)

FIRST_POOL = "main"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A provider's key that was pasted beside the model it is for."""

    name: str
    """What it is called in the team's list, if that is free."""
    secret: str = field(repr=False)


@transaction.atomic
def worker_hire(
    *,
    team: Team,
    values: Mapping[str, Any],
    key: NewKey | None,
    pools: Iterable[str],
    actor: Actor,
) -> Worker:
    """Create a worker with its key, and give it a place at the end of `pools`.

    `pools` are ids, or `NEW_POOL` for a pool made out of it.
    Raises: InvalidFields; NotFound for a pool of another team.
    """
    worker = save_with_key(
        team=team,
        values=values,
        key=key,
        actor=actor,
        save=lambda known: worker_create(team=team, values=known, actor=actor),
    )
    for each in pools:
        if each == NEW_POOL:
            pool_start(team=team, workers=[worker], actor=actor)
        else:
            _add_place(access_pool(team.id, uuid.UUID(each)), worker, actor)
    return worker


@transaction.atomic
def save_with_key(
    *,
    team: Team,
    values: Mapping[str, Any],
    key: NewKey | None,
    actor: Actor,
    save: Callable[[Mapping[str, Any]], T],
) -> T:
    """Store a pasted key, if there is one, and save the model that uses it.

    Raises: InvalidFields, with the names of the model's fields.
    """
    if key is None:
        return save(values)
    credential = credential_create(
        team=team,
        values={
            "name": _free_name(team, key.name),
            "base_url": values["base_url"],
            "secret": key.secret,
        },
        actor=actor,
    )
    return save({**values, "credential_id": credential.id})


def pool_start(*, team: Team, workers: Sequence[Worker], actor: Actor) -> Pool:
    """Make a pool out of workers that is ready for prompts.

    A team with a conductor gets both tiers; without one a single worker answers.
    """
    conductor = conductor_list(team.id).first()
    if not workers:
        raise InvalidFields({"worker_ids": ["add a worker first"]})
    planner = TierPlanner.SINGLE_WORKER if conductor is None else TierPlanner.CONDUCTOR
    plain = {"planner": planner.value}
    return pool_create(
        team=team,
        values={
            "name": FIRST_POOL,
            "is_default": not pool_list(team.id).exists(),
            "conductor_id": None if conductor is None else conductor.id,
            "worker_ids": [worker.id for worker in workers],
            "fallback_id": workers[0].id,
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


def _free_name(team: Team, wanted: str) -> str:
    taken = {credential.name for credential in credential_list(team.id)}
    numbered = (f"{wanted} {number}" for number in count(2))
    return (
        wanted if wanted not in taken else next(n for n in numbered if n not in taken)
    )
