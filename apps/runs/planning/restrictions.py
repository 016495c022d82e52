"""Makes a pool narrower for one run: fewer workers, smaller limits, never more.

The request restricts this run (`RunOrder.restrictions`), so does a candidate that
answers it in an A/B test (`RunArm`), and the team restricts an API key
(`allowed_tiers`, `allowed_workers`). What a plan cannot see it cannot use.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from apps.core.errors import InvalidInput, NotAllowed
from apps.engine.limits import Limits
from apps.engine.messages import has_images
from apps.engine.ports import Task
from apps.engine.suitability import unsuited
from apps.pools.types import PoolSnapshot
from apps.runs.planning.model_resolver import DIRECT, ModelName, ResolvedModel, resolve
from apps.runs.types import UNRESTRICTED, RunOrder, RunRestrictions

FIELD = "conductor"
"""The field of a request that narrows."""


def is_restricted(order: RunOrder) -> bool:
    """Say whether an order may use less than its pool has."""
    return bool(
        order.served_restrictions != UNRESTRICTED
        or order.allowed_tiers
        or order.allowed_workers
        or order.key_data_class
    )


def resolve_restricted(
    name: ModelName, order: RunOrder, snapshot: PoolSnapshot
) -> ResolvedModel:
    """Return what a run of this order needs, and nothing it may not have.

    Raises: NotFound, InvalidInput; NotAllowed for what the API key may not use.
    """
    _check_tier(name, order)
    allowed = _allowed(name, order, snapshot)
    resolved = resolve(name, order.served_model, _keep(snapshot, allowed))
    return replace(
        resolved, limits=restrict_limits(resolved.limits, order.served_restrictions)
    )


def check_suited(order: RunOrder, resolved: ResolvedModel) -> None:
    """Refuse an order that none of its workers could answer.

    Raises: InvalidInput naming the prompt's field for images, `tools` for tools.
    """
    _check_kind(order, resolved)
    if order.vectors is not None or not (order.messages or order.params.tools):
        return
    task = Task(order.prompt, order.params, messages=order.messages)
    workers = resolved.pool.workers
    if not all(unsuited(task, worker, is_last=True) for worker in workers):
        return
    param = order.prompt_field if has_images(order.messages) else "tools"
    if resolved.tier == DIRECT:
        (worker,) = workers
        why = f"worker {worker.name!r} {unsuited(task, worker, is_last=True)}"
        raise InvalidInput(f"{param}: {why}", param=param)
    wanted = [
        *(["takes images"] if has_images(order.messages) else ()),
        *(["calls tools"] if order.params.tools else ()),
    ]
    raise InvalidInput(
        f"{param}: no worker that this run may use of pool {resolved.pool_name!r} "
        f"{' and '.join(wanted)}",
        param=param,
    )


def _check_kind(order: RunOrder, resolved: ResolvedModel) -> None:
    """Refuse embeddings by a chat worker, and chats by an embedding worker."""
    if resolved.tier != DIRECT:
        if order.vectors is not None:
            message = "a tier makes no embeddings; name an embedding worker"
            raise InvalidInput(f"model: {message}", param="model")
        return
    (worker,) = resolved.pool.workers
    makes_embeddings = resolved.endpoints[worker.name].makes_embeddings
    if makes_embeddings and order.vectors is None:
        message = "makes embeddings; send input to /v1/embeddings"
        raise InvalidInput(f"model: worker {worker.name!r} {message}", param="model")
    if order.vectors is not None and not makes_embeddings:
        message = "answers conversations; its pool's embedding workers make embeddings"
        raise InvalidInput(f"model: worker {worker.name!r} {message}", param="model")


def restrict_limits(limits: Limits, restrictions: RunRestrictions) -> Limits:
    """Return the smaller of each limit."""
    return replace(
        limits,
        max_steps=_least(limits.max_steps, restrictions.max_steps),
        max_rounds=_least(limits.max_rounds, restrictions.max_rounds),
        max_cost_micros=_least(limits.max_cost_micros, restrictions.max_cost_micros),
        wall_time_s=_least(limits.wall_time_s, restrictions.max_time_s),
    )


def _least(given: Any, wanted: int | None) -> Any:
    if wanted is None:
        return given
    return wanted if given is None else min(given, wanted)


def _check_tier(name: ModelName, order: RunOrder) -> None:
    if name.tier == DIRECT:
        if order.allowed_workers and name.worker not in order.allowed_workers:
            raise NotAllowed(f"this API key may not use worker {name.worker[:100]!r}")
    elif order.allowed_tiers and name.tier not in order.allowed_tiers:
        raise NotAllowed(f"this API key may not use the tier {name.tier!r}")


def _allowed(name: ModelName, order: RunOrder, snapshot: PoolSnapshot) -> Set[str]:
    """Return the names of the workers that both hands leave."""
    present = {worker.name for worker in snapshot.workers}
    left = present & order.allowed_workers if order.allowed_workers else present
    if not left:
        raise NotAllowed(
            f"this API key may use none of the workers of pool {snapshot.name!r}"
        )
    wanted = order.served_restrictions.workers
    if not wanted:
        return left
    for worker in wanted:
        if worker not in present:
            raise _bad(f"pool {snapshot.name!r} has no worker {worker[:100]!r}")
        if worker not in left:
            raise NotAllowed(f"this API key may not use worker {worker!r}")
    if name.tier == DIRECT and name.worker not in wanted:
        raise _bad(f"the list lacks {name.worker[:100]!r}, which the model names")
    return frozenset(wanted)


def _bad(message: str) -> InvalidInput:
    return InvalidInput(f"{FIELD}.workers: {message}", param=f"{FIELD}.workers")


def _keep(snapshot: PoolSnapshot, names: Set[str]) -> PoolSnapshot:
    """Return the pool with these workers alone; the order stays.

    The first of them takes over as fallback if the pool's own is not among them.
    """
    workers = tuple(worker for worker in snapshot.workers if worker.name in names)
    kept = replace(snapshot, workers=workers)
    if snapshot.fallback in names:
        return kept
    able = [worker.name for worker in kept.chat_workers]
    return replace(kept, fallback=next(iter(able), ""))
