"""Resolves orders to their pool, planner and limits."""

from __future__ import annotations

import uuid
from dataclasses import replace

from apps.core.errors import NotFound
from apps.pools.types import PoolSnapshot
from apps.runs.execution.async_db import PoolLoader
from apps.runs.execution.circuit_breaker import circuit_key
from apps.runs.execution.latency_stats import LatencyStats
from apps.runs.planning.ignored_params import with_ignored
from apps.runs.planning.model_resolver import (
    ModelName,
    ResolvedModel,
    continued,
    parse_model,
    planned_by,
    resolve,
    unknown_model,
    with_rounds,
)
from apps.runs.planning.prompt_limits import check_contexts
from apps.runs.planning.restrictions import (
    check_suited,
    is_restricted,
    resolve_restricted,
)
from apps.runs.types import RunOrder

MAX_RESOLVED = 10_000
"""Models of teams whose resolution is remembered."""


class RunResolver:
    """Resolves the models that orders name; each only when its pool has changed."""

    def __init__(self, latencies: LatencyStats) -> None:
        self._latencies = latencies
        self._pools = PoolLoader()
        self._resolved: dict[
            tuple[uuid.UUID, str, str, int | None],
            tuple[PoolSnapshot, ResolvedModel],
        ] = {}

    async def check(self, order: RunOrder) -> tuple[RunOrder, ResolvedModel]:
        """Resolve a new order; return it with the names of what its run will ignore.

        Raises: NotFound, InvalidInput, NotAllowed.
        """
        resolved = await self.resolve(order)
        check_suited(order, resolved)
        check_contexts(order, resolved)
        return with_ignored(order, resolved), resolved

    async def resolve(self, order: RunOrder) -> ResolvedModel:
        """Return what an order comes to. Raises: NotFound, InvalidInput, NotAllowed."""
        model = order.served_model
        name = parse_model(model)
        snapshot = await self._snapshot(order, name)
        if is_restricted(order):
            return self._adapt(resolve_restricted(name, order, snapshot), order)
        planner, version = order.served_conductor, order.served_pool_version
        key = (order.team_id, model, planner, version)
        known = self._resolved.get(key)
        if known is not None and known[0] is snapshot:
            return self._adapt(known[1], order)
        resolved = resolve(name, model, snapshot)
        if len(self._resolved) >= MAX_RESOLVED:
            self._resolved.clear()
        self._resolved[key] = (snapshot, resolved)
        return self._adapt(resolved, order)

    def _adapt(self, resolved: ResolvedModel, order: RunOrder) -> ResolvedModel:
        """Return what this order alone needs otherwise."""
        if (rounds := order.served_rounds) is not None:
            resolved = with_rounds(resolved, rounds)
        if (planner := order.served_planner) is not None:
            resolved = planned_by(resolved, planner)
        if order.continues:
            resolved = continued(resolved, order.continues)
        if resolved.limits.is_hedged:
            resolved = self._paced(resolved, order)
        return resolved

    def _paced(self, resolved: ResolvedModel, order: RunOrder) -> ResolvedModel:
        """Note how long each worker may take to begin before it gets a rival."""
        is_streamed = order.is_streamed or order.is_watched
        workers = tuple(
            replace(
                worker,
                hedge_after_s=self._latencies.p95_s(
                    circuit_key(order.team_id, resolved.endpoints[worker.name]),
                    is_streamed=is_streamed,
                ),
            )
            for worker in resolved.pool.workers
        )
        return replace(resolved, pool=replace(resolved.pool, workers=workers))

    async def _snapshot(self, order: RunOrder, name: ModelName) -> PoolSnapshot:
        planner, version = order.served_conductor, order.served_pool_version
        try:
            return await self._pools.load(order.team_id, name.pool, planner, version)
        except NotFound as exc:
            if name.pool is None or planner or version:
                raise
            raise unknown_model(order.served_model) from exc
