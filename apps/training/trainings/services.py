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
from apps.evaluation.services import require_sandbox
from apps.evaluation.systems.base import carrier_tier
from apps.pools.models import Pool
from apps.pools.selectors import pool_snapshot
from apps.training.trainings.models import Training, TrainingOutcome
from apps.training.trainings.settings import TrainingPlan

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
    plan = values_read(TrainingPlan, values)
    if principal is not None:
        for right in (MANAGE_EVALUATIONS, MANAGE_POOLS, RUN, DIRECT):
            principal.require(right)
    _require_possible(pool, suite_version, plan)
    open_ones = Training.objects.for_team(pool.team_id).filter(pool=pool)
    if open_ones.exclude(state=JobState.DONE).exists():
        raise Conflict(f"pool {pool.name!r} is being trained; cancel that first")
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
        training.save(force_insert=True)
        _record(training, "training.started", actor, facts)
    return training


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
    rows = suite_version.tasks
    for split, words in (("training", "to train on"), ("held_out", "to measure on")):
        if not rows.filter(split=split).exists():
            raise InvalidInput(
                f"suite {suite_version.suite.name!r} has no tasks {words} (split "
                f"{split!r})",
                param="suite",
            )
    if rows.filter(needs_grader=True).exists():
        raise InvalidInput(
            "tasks of this suite have a rubric: training needs answers that can be "
            "graded without a model",
            param="suite",
        )
    unpriced = [w.name for w in snapshot.chat_workers if w.price is None]
    if plan.max_cost_micros is not None and unpriced:
        raise InvalidInput(
            f"with a cost limit every worker needs a price; {unpriced[0]!r} has none",
            param="max_cost_micros",
        )
    require_sandbox(suite_version)


def _record(
    training: Training,
    action: str,
    actor: Actor,
    facts: Mapping[str, Any],
    outcome: str = "success",
) -> None:
    draft = EntryDraft(action, "training", training.id, actor, facts, outcome=outcome)
    entries_append(batch=Batch(training.team_id, (draft,)))
