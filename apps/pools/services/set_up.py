"""Sets a team up: several models of one provider at once, then a pool of what works.

Everything here can be repeated: a model that the team has at the same address is used
again, so that nothing is there twice. Each function saves everything or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import InvalidFields
from apps.pools.model_guesses import (
    makes_embeddings,
    name_of_model,
    only_plans,
    planners_first,
)
from apps.pools.models import (
    Conductor,
    ConductorMode,
    Pool,
    TierName,
    TierPlanner,
    Worker,
    WorkerKind,
)
from apps.pools.selectors import (
    conductor_list,
    last_test,
    list_price,
    list_price_values,
    pool_list,
    worker_list,
)
from apps.pools.services.conductors import conductor_create, conductor_update
from apps.pools.services.onboarding import (
    FIRST_POOL,
    NewCredential,
    pool_start,
    save_with_credential,
)
from apps.pools.services.pools import pool_update
from apps.pools.services.workers import worker_create, worker_update

PRICE = ("input_usd", "output_usd", "cached_input_usd")
ModelT = TypeVar("ModelT", Worker, Conductor)


@transaction.atomic
def models_add(
    *,
    team: Team,
    provider: Mapping[str, Any],
    extra_params: Sequence[str],
    models: Sequence[str],
    planner: str,
    credential: NewCredential | None,
    actor: Actor,
) -> Conductor | None:
    """Make workers of a provider's models, and a conductor of the one that plans.

    `provider`: base_url, protocol, max_tokens_field and credential_id, which all of
    them share. `planner`: the model that plans, one of `models` or another; empty: the
    best suited of `models`. Names come from the models, prices from the price list.
    Return the conductor; None: none of the models can plan. Raises: InvalidFields.
    """
    if not models:
        raise InvalidFields({"models": ["mark at least one model"]})
    plans = planner or next(iter(planners_first(provider["base_url"], models)), "")
    answering = [each for each in models if each != plans or not only_plans(each)]

    def save(known: Mapping[str, Any]) -> Conductor | None:
        for model in answering or models:
            _worker_put(team, known, extra_params, model, actor)
        if not plans:
            return None
        return conductor_add(team=team, provider=known, model=plans, actor=actor)

    return save_with_credential(
        team=team, values=provider, credential=credential, actor=actor, save=save
    )


def conductor_add(
    *, team: Team, provider: Mapping[str, Any], model: str, actor: Actor
) -> Conductor:
    """Make a conductor of a model; it writes plans as JSON, which most models can.

    One that the team has already keeps its format if its last test passed. Raises:
    InvalidFields.
    """
    rows = conductor_list(team.id)
    known = _known(list(rows), provider, model)
    mode = {"mode": ConductorMode.JSON_SCHEMA}
    if known is None:
        values = _new_values(provider, model, [each.name for each in rows])
        return conductor_create(team=team, values={**values, **mode}, actor=actor)
    test = last_test(known)
    values = {**provider, **({} if test and test.ok else mode)}
    return conductor_update(conductor=known, values=values, actor=actor)


@transaction.atomic
def prices_fill(
    *,
    prices: Iterable[tuple[Worker | Conductor, Mapping[str, str]]],
    actor: Actor,
) -> None:
    """Set the prices of several models, from today on.

    Raises: InvalidFields, with the model's id before the name of the part.
    """
    for model, price in prices:
        values = {"price": dict(price)}
        try:
            if isinstance(model, Worker):
                worker_update(worker=model, values=values, actor=actor)
            else:
                conductor_update(conductor=model, values=values, actor=actor)
        except InvalidFields as error:
            raise InvalidFields(
                {
                    f"{model.id}.{path.removeprefix('price.')}": faults
                    for path, faults in error.fields.items()
                }
            ) from error


def pool_complete(
    *,
    team: Team,
    workers: Sequence[Worker],
    conductor: Conductor | None,
    actor: Actor,
) -> Pool:
    """Put workers and a conductor to use: in the default pool, or in a first one.

    Real models do not join a simulated pool: they get one of their own, which is the
    default from then on. Its ultra tier plans with the conductor, unless it plans
    already; other settings of a pool that is there stay. Raises: InvalidFields if no
    worker answers conversations.
    """
    pool = pool_to_join(team.id, workers)
    if pool is None:
        return pool_start(
            team=team,
            workers=workers,
            conductor=conductor,
            actor=actor,
            is_default=True,
        )
    present = list(pool.places.values_list("worker_id", flat=True))
    added = [each.id for each in workers if each.id not in present]
    values: dict[str, Any] = {"worker_ids": [*present, *added], "is_default": True}
    if conductor is not None:
        values["conductor_id"] = conductor.id
        if not _plans(pool):
            ultra = {"planner": TierPlanner.CONDUCTOR.value}
            values["tiers"] = {TierName.ULTRA.value: ultra}
    return pool_update(pool=pool, values=values, actor=actor)


def pool_to_join(team_id: UUID, workers: Sequence[Worker]) -> Pool | None:
    """Return the pool that workers join when they are put to use; None: a new one."""
    pools = pool_list(team_id).prefetch_related("places__worker")
    default = pools.filter(is_default=True).first()
    is_real = any(not worker.is_simulated for worker in workers)
    if default is None or not (is_real and _is_simulated(default)):
        return default
    return pools.filter(name=FIRST_POOL).first()


def _is_simulated(pool: Pool) -> bool:
    return all(worker.is_simulated for worker in pool.enabled_workers)


def _plans(pool: Pool) -> bool:
    """Say whether the pool has an ultra tier, and that makes plans."""
    ultra = pool.tiers.filter(name=TierName.ULTRA).first()
    return ultra is not None and ultra.planner != TierPlanner.SINGLE_WORKER


def _worker_put(
    team: Team,
    provider: Mapping[str, Any],
    extra_params: Sequence[str],
    model: str,
    actor: Actor,
) -> None:
    rows = worker_list(team.id)
    known = _known(list(rows), provider, model)
    if known is not None:
        values = {**provider, "is_enabled": True}
        worker_update(worker=known, values=values, actor=actor)
        return
    values = _new_values(provider, model, [each.name for each in rows])
    if makes_embeddings(model):
        values["kind"] = WorkerKind.EMBEDDING
    else:
        values["extra_params"] = list(extra_params)
    worker_create(team=team, values=values, actor=actor)


def _known(
    rows: Sequence[ModelT], provider: Mapping[str, Any], model: str
) -> ModelT | None:
    place = (provider["base_url"].rstrip("/"), model)
    return next((each for each in rows if (each.base_url, each.model) == place), None)


def _new_values(
    provider: Mapping[str, Any], model: str, taken: Sequence[str]
) -> dict[str, Any]:
    listed = list_price_values(list_price(provider["base_url"], model))
    price = {name: listed[name] for name in PRICE} if listed else None
    name = name_of_model(model, taken)
    return {**provider, "name": name, "model": model, "price": price}
