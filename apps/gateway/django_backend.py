"""The gateway's backend over Django's services; the only sync/async bridge here."""

from __future__ import annotations

import uuid

from channels.db import database_sync_to_async
from django.utils import timezone

from apps.accounts.principal import KeyPrincipal
from apps.accounts.services import api_key_peek, api_key_resolve
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.single_flight import SingleFlight
from apps.gateway.model_facts import ModelFacts, facts_of_tier, facts_of_worker
from apps.pools.models import TierPlanner, WorkerKind
from apps.pools.selectors import pool_list
from apps.presets.composing import ComposedPrompt, PresetCall, preset_compose
from apps.runs.planning.model_resolver import direct_model
from apps.runs.selectors import asking_worker, run_is_over, run_record
from apps.runs.services import (
    idempotency_claim,
    idempotency_holder,
    idempotency_release,
    run_cancel,
    run_find,
    run_start,
    run_start_detached,
)
from apps.runs.types import LiveRun, RunOrder, RunRecord


class DjangoBackend:
    """Answers from memory where it can and asks the database in a thread otherwise."""

    def __init__(self) -> None:
        self._keys: SingleFlight[str, KeyHolder] = SingleFlight(_resolve)

    async def authenticate(self, raw_key: str) -> KeyHolder:
        """Return whom the key speaks for. Raises: NotAuthenticated."""
        return api_key_peek(raw_key) or await self._keys.get(raw_key)

    async def models(self, holder: KeyHolder) -> dict[str, ModelFacts]:
        """Return what is known of the models that a key may use, by name, in order."""
        found: dict[str, ModelFacts]
        found = await database_sync_to_async(_read_models)(holder)
        return found

    async def start_run(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> LiveRun:
        """Start a run.

        Raises: InvalidInput, NotFound, NotAllowed, BudgetExceeded, Overloaded.
        """
        return await run_start(order, run_id)

    async def start_detached(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> LiveRun | RunRecord:
        """Start a run that its client does not wait for, here or in another process.

        It is on record then. Raises: as `start_run`.
        """
        run_id = await run_start_detached(order, run_id)
        live = self.find_run(order.team_id, run_id)
        return live or await self.run_record(order.team_id, run_id)

    async def stop_run(
        self, team_id: uuid.UUID, run_id: uuid.UUID, actor: Actor, reason: str
    ) -> bool:
        """Stop a team's run; False if it had ended. Raises: Overloaded."""
        # A thread of its own: stopping a run of another process takes seconds, and all
        # others share one.
        stop = database_sync_to_async(run_cancel, thread_sensitive=False)
        is_stopped: bool = await stop(
            run_id=run_id, team_id=team_id, actor=actor, reason=reason
        )
        return is_stopped

    def find_run(self, team_id: uuid.UUID, run_id: uuid.UUID) -> LiveRun | None:
        """Return a team's run if it is executing in this process."""
        return run_find(run_id, team_id)

    async def is_over(self, team_id: uuid.UUID, run_id: uuid.UUID) -> bool:
        """Say whether a team's run has ended. Raises: NotFound."""
        is_over: bool = await database_sync_to_async(run_is_over)(team_id, run_id)
        return is_over

    async def run_record(self, team_id: uuid.UUID, run_id: uuid.UUID) -> RunRecord:
        """Return what is on record of a team's run. Raises: NotFound."""
        record: RunRecord = await database_sync_to_async(run_record)(team_id, run_id)
        return record

    async def asking_worker(self, team_id: uuid.UUID, run_id: uuid.UUID) -> str:
        """Return the worker whose tool calls ended a team's run; "" if unknown."""
        name: str = await database_sync_to_async(asking_worker)(team_id, run_id)
        return name

    async def compose_preset(
        self, principal: KeyPrincipal, call: PresetCall
    ) -> ComposedPrompt:
        """Return the prompt that a preset makes. Raises: as `preset_compose`."""
        composed: ComposedPrompt = await database_sync_to_async(preset_compose)(
            principal, call
        )
        return composed

    async def claim(
        self, team_id: uuid.UUID, key: str, digest: bytes, run_id: uuid.UUID
    ) -> uuid.UUID:
        """Return the run that holds an idempotency key. Raises: IdempotencyConflict."""
        holder: uuid.UUID = await database_sync_to_async(idempotency_claim)(
            team_id=team_id, key=key, body_digest=digest, run_id=run_id
        )
        return holder

    async def holder(
        self, team_id: uuid.UUID, key: str, digest: bytes
    ) -> uuid.UUID | None:
        """Return the run that holds an idempotency key. Raises: IdempotencyConflict."""
        found: uuid.UUID | None = await database_sync_to_async(idempotency_holder)(
            team_id=team_id, key=key, body_digest=digest
        )
        return found

    async def release(self, team_id: uuid.UUID, key: str, run_id: uuid.UUID) -> None:
        """Free an idempotency key if `run_id` is what holds it."""
        await database_sync_to_async(idempotency_release)(
            team_id=team_id, key=key, run_id=run_id
        )


async def _resolve(raw_key: str) -> KeyHolder:
    holder: KeyHolder
    resolve = database_sync_to_async(api_key_resolve)
    holder = await resolve(raw_key, now=timezone.now())
    return holder


def _read_models(holder: KeyHolder) -> dict[str, ModelFacts]:
    default: dict[str, ModelFacts] = {}
    named: dict[str, ModelFacts] = {}
    own: dict[str, ModelFacts] = {}
    direct: dict[str, ModelFacts] = {}
    pools = pool_list(holder.team_id).prefetch_related(
        "places__worker__prices", "conductor__prices"
    )
    for pool in pools:
        workers = [
            worker
            for worker in pool.enabled_workers
            if worker.name in (holder.allowed_workers or {worker.name})
        ]
        able = [worker for worker in workers if worker.kind == WorkerKind.CHAT]
        tiers = [
            tier
            for tier in pool.tiers.all()
            if able and tier.name in (holder.allowed_tiers or {tier.name})
        ]
        for tier in tiers:
            has_conductor = TierPlanner(tier.planner).has_conductor
            facts = facts_of_tier(able, pool.conductor if has_conductor else None)
            named[f"{pool.name}/{tier.name}"] = facts
            if pool.is_default:
                default[f"conductor-{tier.name}"] = facts
        for worker in workers:
            place_of = own if pool.is_default else direct
            name = direct_model(worker.name, None if pool.is_default else pool.name)
            place_of[name] = facts_of_worker(worker)
    return {**default, **named, **own, **direct}
