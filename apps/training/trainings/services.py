"""Changes to trainings, each recorded in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.principal import Principal
from apps.accounts.rights import DIRECT, MANAGE_EVALUATIONS, MANAGE_POOLS, RUN
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.core.input_parts import values_read
from apps.evaluation.models import SuiteVersion
from apps.evaluation.systems.base import carrier_tier
from apps.pools.models import Pool
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.training.trainings.models import Training, TrainingOutcome
from apps.training.trainings.newcomers import present_version, require_fitted
from apps.training.trainings.requirements import require_trainable
from apps.training.trainings.settings import TrainingPlan
from apps.training.trainings.site_defaults import require_calibrated

FEWEST_STEPS = 4
"""Of the longest plans that are explored."""


def training_start(
    *,
    pool: Pool,
    suite_version: SuiteVersion,
    values: Mapping[str, Any],
    actor: Actor,
    principal: Principal | None = None,
) -> Training:
    """Order the training of a pool's light planner; a process of the site drives it.

    `principal` None: the operator starts it, by a command. Raises: InvalidFields,
    InvalidInput, NotFound; NotAllowed; Conflict if the pool is being trained.
    """
    plan = _with_embeddings(pool, values_read(TrainingPlan, values))
    if principal is not None:
        for right in (MANAGE_EVALUATIONS, MANAGE_POOLS, RUN, DIRECT):
            principal.require(right)
    _require_possible(pool, suite_version, plan)
    training = Training(
        team_id=pool.team_id,
        pool=pool,
        suite_version=suite_version,
        user=principal.user if principal else None,
        settings=plan.values(),
        state=JobState.WAITING,
        requested_by=actor_facts(actor),
        beat_at=timezone.now(),
    )
    facts = {
        "pool": pool.name,
        "suite": suite_version.suite.name,
        "suite_version": suite_version.number,
        "settings": training.settings,
    }
    with transaction.atomic():
        rows = Pool.objects.for_team(pool.team_id).select_for_update(no_key=True)
        rows.get(pk=pool.pk)
        open_ones = Training.objects.for_team(pool.team_id).filter(pool=pool)
        if open_ones.exclude(state=JobState.DONE).exists():
            raise Conflict(f"pool {pool.name!r} is being trained; cancel that first")
        training.save(force_insert=True)
        _record(training, "training.started", actor, facts)
    return training


def _with_embeddings(pool: Pool, plan: TrainingPlan) -> TrainingPlan:
    """Return a plan for a newcomer with the embeddings of the version it adds to.

    If their worker has left the pool, n-grams take their place.
    """
    version = present_version(pool) if plan.newcomer else None
    if version is None or plan.embeddings:
        return plan
    name = (version.fit.get("embedding") or {}).get("worker", "")
    if pool_snapshot(pool.team_id, pool.name).embedding_worker(name) is None:
        return plan
    return plan.model_copy(update={"embeddings": name})


def training_cancel(*, training: Training, actor: Actor) -> bool:
    """Begin nothing further, and stop what runs; False: it has ended."""
    rows = Training.objects.for_team(training.team_id).filter(pk=training.pk)
    with transaction.atomic():
        changed = rows.exclude(state=JobState.DONE).filter(is_cancelled=False)
        if not changed.update(is_cancelled=True):
            return False
        _record(training, "training.cancelled", actor, {})
    return True


def training_record_end(training: Training) -> None:
    """Record how a training ended. Call it in the transaction that ends it."""
    failed = training.outcome == TrainingOutcome.FAILED
    facts = {
        "pool": training.pool.name,
        "outcome": str(training.outcome),
        "error": training.error,
        "planner_version": training.version,
        "embedding_cost_micros": training.embedding_cost_micros,
    }
    actor = Actor(**training.requested_by)
    outcome = "failure" if failed else "success"
    _record(training, "training.ended", actor, facts, outcome)


def _require_possible(
    pool: Pool, suite_version: SuiteVersion, plan: TrainingPlan
) -> None:
    snapshot = pool_snapshot(pool.team_id, pool.name)
    carrier = carrier_tier(snapshot.tiers)
    if snapshot.tiers[carrier].max_steps < FEWEST_STEPS:
        raise InvalidInput(
            f"pool {pool.name!r}: plans are explored within the limits of tier "
            f"{carrier!r}, which needs at least {FEWEST_STEPS} steps",
            param="pool",
        )
    missing = [name for name in plan.tiers if name not in snapshot.tiers]
    if missing:
        raise InvalidInput(
            f"pool {pool.name!r} has no tier {missing[0]!r}", param="tiers"
        )
    if plan.from_profiles:
        require_calibrated(pool)
    if plan.newcomer:
        require_fitted(pool)
        if plan.newcomer not in {worker.name for worker in snapshot.chat_workers}:
            raise InvalidInput(
                f"pool {pool.name!r} has no worker {plan.newcomer!r} that plans may "
                "name",
                param="newcomer",
            )
    if plan.embeddings:
        _require_embedder(snapshot, plan)
    require_trainable(
        snapshot, suite_version, needs_prices=plan.max_cost_micros is not None
    )


def _require_embedder(snapshot: PoolSnapshot, plan: TrainingPlan) -> None:
    worker = snapshot.embedding_worker(plan.embeddings)
    if worker is None:
        raise InvalidInput(
            f"pool {snapshot.name!r} has no embedding worker {plan.embeddings!r}",
            param="embeddings",
        )
    if plan.max_cost_micros is not None and worker.price is None:
        raise InvalidInput(
            f"with a cost limit every worker needs a price; {worker.name!r} has none",
            param="max_cost_micros",
        )


def _record(
    training: Training,
    action: str,
    actor: Actor,
    facts: Mapping[str, Any],
    outcome: str = "success",
) -> None:
    draft = EntryDraft(action, "training", training.id, actor, facts, outcome=outcome)
    entries_append(batch=Batch(training.team_id, (draft,)))
