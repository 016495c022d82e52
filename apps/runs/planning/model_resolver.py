"""From the model a caller names to a planner, a pool and limits.

`conductor-mini` and `conductor-ultra` are the tiers of the team's default pool,
`<pool>/mini` and `<pool>/ultra` those of any pool. `worker/<name>` is one worker of the
default pool, called directly, `<pool>/worker/<name>` one of any pool.

Whether a name asks for a direct call is decided here alone, by `is_direct`: API keys
need a scope of their own for those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.conf import settings

from apps.core.errors import InvalidInput, NotFound
from apps.engine.limits import Limits
from apps.engine.ports import Planner, Pool, PoolWorker
from apps.engine.usage import Price
from apps.llm.protocols.registry import extra_params_of
from apps.llm.types import Endpoint
from apps.planners.answer_worth import worth_in_force
from apps.planners.cascade import PlannerCascade
from apps.planners.fixed import FixedPlanner, SingleWorkerPlanner
from apps.planners.language_model import LanguageModelPlanner
from apps.planners.stickiness import StickyPlanner
from apps.planners.tool_continuation import ToolContinuationPlanner
from apps.pools.models import NAME_LENGTH, NAME_PATTERN, TierPlanner
from apps.pools.selectors import conductor_planner, policy_tags, worker_description
from apps.pools.types import (
    PoolSnapshot,
    PriceSnapshot,
    TierSnapshot,
    WorkerSnapshot,
)
from apps.runs.types import Delivery

if TYPE_CHECKING:
    from apps.planners.light.planner import LightPlanner

DEFAULT_TIERS = {"conductor-mini": "mini", "conductor-ultra": "ultra"}
DIRECT = "direct"
DIRECT_WORD = "worker"
"""Stands before the worker's name in the name of a direct call."""
MAX_REPLANS = 1
"""Further plans after a failed step."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model name, taken apart."""

    pool: str | None
    """None: the team's default pool."""
    tier: str
    """mini, ultra, or direct."""
    worker: str = ""
    """For direct calls."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """Everything a run needs to know of its pool."""

    pool: Pool
    planner: Planner
    limits: Limits
    endpoints: Mapping[str, Endpoint]
    """By worker name; the conductor's under the empty name."""
    tier: str
    pool_name: str
    pool_version: int
    text_tokens: int | None = None
    """The context that each text for an embedding worker has to itself. None: unknown,
    or no such worker."""
    delivery: Delivery = "live"
    """How answers are streamed, unless key or caller say otherwise."""

    @property
    def plans_with_model(self) -> bool:
        """Say whether a model is asked for the plan."""
        planner = self.planner
        if isinstance(planner, StickyPlanner):
            planner = planner.inner
        return isinstance(planner, LanguageModelPlanner | PlannerCascade)


def parse_model(model: str) -> ModelName:
    """Take a model name apart. Raises: NotFound if it has no known form."""
    if model in DEFAULT_TIERS:
        return ModelName(None, DEFAULT_TIERS[model])
    if (direct := _parse_direct(model)) is not None:
        return direct
    pool, slash, tier = model.rpartition("/")
    if slash and tier in DEFAULT_TIERS.values() and _is_pool_name(pool):
        return ModelName(pool, tier)
    raise unknown_model(model)


def tier_named(model: str) -> str:
    """Return the tier that a model name asks for: mini, ultra or direct.

    Empty: the name has no known form.
    """
    try:
        return parse_model(model).tier
    except NotFound:
        return ""


def is_direct(model: str) -> bool:
    """Say whether a model name asks one worker directly, which takes its own scope."""
    return _parse_direct(model) is not None


def direct_worker(model: str) -> str:
    """Return the worker that a model name asks directly; empty: it asks for a tier."""
    name = _parse_direct(model)
    return "" if name is None else name.worker


def direct_model(worker: str, pool: str | None = None) -> str:
    """Return the model name that asks one worker; None: of the team's default pool."""
    name = f"{DIRECT_WORD}/{worker}"
    return name if pool is None else f"{pool}/{name}"


def _parse_direct(model: str) -> ModelName | None:
    parts = model.split("/", 3)
    if len(parts) == 2 and parts[0] == DIRECT_WORD:
        return ModelName(None, DIRECT, parts[1])
    if len(parts) == 3 and parts[1] == DIRECT_WORD and _is_pool_name(parts[0]):
        return ModelName(parts[0], DIRECT, parts[2])
    return None


def _is_pool_name(text: str) -> bool:
    return len(text) <= NAME_LENGTH and bool(re.fullmatch(NAME_PATTERN, text))


def unknown_model(model: str) -> NotFound:
    """Return the error for a model name that leads nowhere."""
    return ModelNotFound(
        f"the model {model[:100]!r} does not exist or you have no access to it",
        param="model",
    )


class ModelNotFound(NotFound):
    """The team has no such model."""

    code = "model_not_found"


def resolve(name: ModelName, model: str, snapshot: PoolSnapshot) -> ResolvedModel:
    """Return what a run of `model` needs. Raises: NotFound, InvalidInput."""
    make = _direct if name.tier == DIRECT else _tier
    return make(name, model, snapshot)


def _direct(name: ModelName, model: str, snapshot: PoolSnapshot) -> ResolvedModel:
    workers = [w for w in snapshot.workers if w.name == name.worker]
    if not workers:
        raise unknown_model(model)
    return ResolvedModel(
        # Its own fallback: who names a worker wants that one or an error.
        pool=Pool((_pool_worker(workers[0], is_direct=True),), fallback=name.worker),
        planner=SingleWorkerPlanner(name.worker),
        limits=Limits(
            max_steps=1, max_replans=0, step_time_s=float(settings.STEP_TIME_S)
        ),
        endpoints={name.worker: workers[0].endpoint},
        tier=DIRECT,
        pool_name=snapshot.name,
        pool_version=snapshot.version,
        text_tokens=(
            workers[0].attributes.context_tokens
            if workers[0].endpoint.makes_embeddings
            else None
        ),
    )


def continued(resolved: ResolvedModel, worker: str) -> ResolvedModel:
    """Return how a run goes on that hands `worker` the results of its tools.

    A worker that is not in the pool (any more) cannot go on: then all stays as it is.
    """
    if resolved.tier == DIRECT or worker not in resolved.pool.names:
        return resolved
    return replace(
        resolved,
        planner=ToolContinuationPlanner(worker),
        limits=replace(resolved.limits, max_replans=0),
    )


def planned_by(resolved: ResolvedModel, planner: FixedPlanner) -> ResolvedModel:
    """Return how a run goes whose plans a fixed planner makes: as many as it has."""
    limits = replace(
        resolved.limits,
        max_replans=0,
        max_rounds=planner.max_rounds,
        max_delegations=getattr(planner, "max_delegations", 0),
    )
    return replace(resolved, planner=planner, limits=limits)


def with_rounds(resolved: ResolvedModel, max_rounds: int) -> ResolvedModel:
    """Return how a run goes that may have so many plans, whatever its tier says."""
    return replace(resolved, limits=replace(resolved.limits, max_rounds=max_rounds))


def _tier(name: ModelName, model: str, snapshot: PoolSnapshot) -> ResolvedModel:
    tier = snapshot.tiers.get(name.tier)
    if tier is None:
        raise unknown_model(model)
    conductor = snapshot.conductor
    described = conductor.attributes if conductor else None
    workers = snapshot.chat_workers
    if not workers:
        raise InvalidInput(
            f"pool {snapshot.name!r} has no worker that answers conversations",
            param="model",
        )
    endpoints = {w.name: w.endpoint for w in workers}
    if conductor is not None:
        endpoints[""] = conductor.endpoint
    embedder = _embedder(snapshot, tier)
    if embedder is not None:
        endpoints[embedder.name] = embedder.endpoint
    return ResolvedModel(
        pool=Pool(
            tuple(_pool_worker(w, worker_description(w, conductor)) for w in workers),
            snapshot.fallback,
            conductor_price=_price(conductor.price) if conductor else None,
            conductor_max_output_tokens=described.max_output_tokens if described else 0,
            conductor_context_tokens=described.context_tokens if described else None,
            substitutes=_substitutes(snapshot),
            retries_refusals=snapshot.retries_refusals,
            embedder=None if embedder is None else _pool_embedder(embedder),
        ),
        planner=_PLANNERS[TierPlanner(tier.planner)](snapshot, tier),
        limits=_limits(tier),
        endpoints=endpoints,
        tier=tier.name,
        pool_name=snapshot.name,
        pool_version=snapshot.version,
        delivery="verified" if tier.delivery == "verified" else "live",
    )


def _embedder(snapshot: PoolSnapshot, tier: TierSnapshot) -> WorkerSnapshot | None:
    """Return the worker that makes the vectors of the tier's light planner.

    None: it needs none, or the pool lacks that worker with the model of the fit.
    """
    if not TierPlanner(tier.planner).is_light or snapshot.planner is None:
        return None
    wanted = snapshot.planner.model.kinds.embedded
    if wanted is None:
        return None
    found = snapshot.embedding_worker(wanted.worker)
    return found if found is not None and found.endpoint.model == wanted.model else None


def _pool_embedder(worker: WorkerSnapshot) -> PoolWorker:
    return replace(
        _pool_worker(worker), context_tokens=worker.attributes.context_tokens
    )


def _language_model(snapshot: PoolSnapshot, tier: TierSnapshot) -> Planner:
    conductor = snapshot.conductor
    if conductor is None:
        raise InvalidInput(
            f"pool {snapshot.name!r} has no conductor, which this tier needs",
            param="model",
        )
    return conductor_planner(conductor, snapshot.planner)


def _single_worker(snapshot: PoolSnapshot, tier: TierSnapshot) -> Planner:
    return SingleWorkerPlanner(snapshot.fallback)


def _light(snapshot: PoolSnapshot, tier: TierSnapshot) -> LightPlanner:
    # Brings NumPy with it, which a process without light planners does not need.
    from apps.planners.light.planner import LightPlanner

    found = snapshot.planner
    if found is None:
        raise InvalidInput(
            f"pool {snapshot.name!r} has no light planner, which this tier needs",
            param="model",
        )
    worth = worth_in_force(tier.answer_worth_micros, found.answer_worth_micros)
    return LightPlanner(found.model, found.number, worth)


def _cascade(snapshot: PoolSnapshot, tier: TierSnapshot) -> Planner:
    return PlannerCascade(_light(snapshot, tier), _language_model(snapshot, tier))


_PLANNERS: Mapping[TierPlanner, Callable[[PoolSnapshot, TierSnapshot], Planner]] = {
    TierPlanner.CONDUCTOR: _language_model,
    TierPlanner.SINGLE_WORKER: _single_worker,
    TierPlanner.LIGHT: _light,
    TierPlanner.CASCADE: _cascade,
}


def _limits(tier: TierSnapshot) -> Limits:
    plans = TierPlanner(tier.planner) is not TierPlanner.SINGLE_WORKER
    return Limits(
        # Where nobody plans, a new plan is the old one: it would only cost again.
        max_replans=MAX_REPLANS if plans else 0,
        max_steps=tier.max_steps,
        max_rounds=tier.max_rounds,
        max_delegations=int(tier.allows_delegation),
        max_parallel=tier.max_parallel,
        max_calls=tier.max_calls,
        max_tokens=tier.max_tokens,
        max_cost_micros=tier.max_cost_micros,
        wall_time_s=tier.wall_time_s,
        step_time_s=float(settings.STEP_TIME_S),
        is_hedged=tier.is_hedged,
    )


def _substitutes(snapshot: PoolSnapshot) -> tuple[str, ...]:
    return tuple(
        worker.name
        for worker in snapshot.chat_workers
        if worker.may_substitute and worker.name != snapshot.fallback
    )


def _pool_worker(
    worker: WorkerSnapshot, description: str = "", *, is_direct: bool = False
) -> PoolWorker:
    tags = policy_tags(worker.attributes.tags, worker.endpoint.base_url)
    if worker.endpoint.makes_embeddings:
        # Each text has the whole context to itself, and there is no text to pay for.
        return PoolWorker(
            worker.name,
            _price(worker.price),
            max_output_tokens=1,
            tags=tags,
        )
    has = worker.attributes
    listed = frozenset(has.extra_params)
    taken = extra_params_of(worker.endpoint)
    if taken is None and not is_direct:
        taken = listed
    return PoolWorker(
        worker.name,
        _price(worker.price),
        description,
        has.max_output_tokens,
        has.context_tokens,
        has.accepts_images,
        has.accepts_tools,
        has.accepts_prefill,
        taken,
        listed,
        tags=tags,
        fingerprint=worker.fingerprint,
    )


def _price(price: PriceSnapshot | None) -> Price | None:
    if price is None:
        return None
    return Price(price.input_micros, price.output_micros, price.cached_input_micros)
