"""Changes to trainings of conductors, each recorded in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.principal import Principal
from apps.accounts.rights import DIRECT, MANAGE_EVALUATIONS, MANAGE_POOLS, RUN
from apps.audit.job_news import job_news_send
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.core.input_parts import values_read
from apps.evaluation.models import SuiteVersion
from apps.pools.models import Pool, TierPlanner
from apps.pools.selectors import planner_version, planner_versions, pool_snapshot
from apps.training.conductor.environment import require_environment
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)
from apps.training.conductor.settings import TINY, ConductorTrainingPlan
from apps.training.trainings.requirements import require_trainable

SUBJECT = "conductor_training"


def conductor_training_start(
    *,
    pool: Pool,
    suite_version: SuiteVersion,
    values: Mapping[str, Any],
    actor: Actor,
    principal: Principal | None = None,
) -> ConductorTraining:
    """Order the training of a conductor for a pool; a process of the site drives it.

    `values`: of a `ConductorTrainingPlan`. `principal` None: the operator starts it, by
    a command. Blocks for a moment. Raises: InvalidFields, InvalidInput, NotFound;
    NotAllowed; Conflict if a conductor is being trained for the pool, or can't be
    trained here.
    """
    plan = values_read(ConductorTrainingPlan, values)
    if principal is not None:
        for right in (MANAGE_EVALUATIONS, MANAGE_POOLS, RUN, DIRECT):
            principal.require(right)
    _require_possible(pool, suite_version, plan)
    number = _planner_number(pool, plan)
    require_environment(plan.job())
    training = ConductorTraining(
        team_id=pool.team_id,
        pool=pool,
        suite_version=suite_version,
        user=principal.user if principal else None,
        planner_number=number,
        settings=plan.values(),
        state=JobState.WAITING,
        requested_by=actor_facts(actor),
        beat_at=timezone.now(),
    )
    facts = {
        "pool": pool.name,
        "suite": suite_version.suite.name,
        "suite_version": suite_version.number,
        "planner_version": number,
        "settings": training.settings,
    }
    with transaction.atomic():
        rows = Pool.objects.for_team(pool.team_id).select_for_update(no_key=True)
        rows.get(pk=pool.pk)
        _require_idle(pool)
        training.save(force_insert=True)
        training_record(training, "started", actor, facts)
    return training


def conductor_training_cancel(*, training: ConductorTraining, actor: Actor) -> bool:
    """Begin nothing further, and stop what runs; False: it has ended.

    The version of one that waits for its server, or is measured, stays. While it learns
    the weights of its last complete stage become a version, if there are any.
    """
    rows = ConductorTraining.objects.for_team(training.team_id).filter(pk=training.pk)
    with transaction.atomic():
        changed = rows.exclude(state=JobState.DONE).filter(is_cancelled=False)
        if not changed.update(is_cancelled=True):
            return False
        training_record(training, "cancelled", actor, {})
        # A process takes it then, and ends it.
        served = rows.filter(stage=ConductorStage.SERVE)
        served.update(stage=ConductorStage.GATE, claim_id=None)
        transaction.on_commit(job_news_send)
    return True


def training_record(
    training: ConductorTraining,
    what: str,
    actor: Actor,
    facts: Mapping[str, Any],
    outcome: str = "success",
) -> None:
    """Record something of a training. Call it in the transaction of the change."""
    draft = EntryDraft(
        f"{SUBJECT}.{what}", SUBJECT, training.id, actor, facts, outcome=outcome
    )
    entries_append(batch=Batch(training.team_id, (draft,)))


def training_record_end(training: ConductorTraining, cost_micros: int) -> None:
    """Record how a training ended. Call it in the transaction that ends it."""
    version = ConductorVersion.objects.for_team(training.team_id).filter(
        training=training
    )
    failed = training.outcome == ConductorOutcome.FAILED
    facts = {
        "pool": training.pool.name,
        "outcome": str(training.outcome),
        "error": training.error,
        "conductor_version": version.values_list("number", flat=True).first(),
        "cost_micros": cost_micros,
    }
    actor = Actor(**training.requested_by)
    training_record(training, "ended", actor, facts, "failure" if failed else "success")


def _require_idle(pool: Pool) -> None:
    open_ones = ConductorTraining.objects.for_team(pool.team_id).filter(pool=pool)
    busy = open_ones.exclude(state=JobState.DONE).exclude(stage=ConductorStage.SERVE)
    if busy.exists():
        raise Conflict(
            f"a conductor is being trained for pool {pool.name!r}; cancel that first"
        )


def _require_possible(
    pool: Pool, suite_version: SuiteVersion, plan: ConductorTrainingPlan
) -> None:
    allowed = (TINY, *settings.CONDUCTOR_BASE_MODELS)
    if plan.base_model not in allowed:
        raise InvalidInput(
            f"base_model: expected one of {', '.join(allowed)}; the operator sets "
            "CONDUCTOR_BASE_MODELS",
            param="base_model",
        )
    if not plan.stages:
        raise InvalidInput(
            "with no steps and no iterations there is nothing to train",
            param="sft_steps",
        )
    if plan.recursion_iterations and not plan.grpo_iterations:
        raise InvalidInput(
            "a second round is learned with plans that ran, so grpo_iterations must "
            "not be 0",
            param="recursion_iterations",
        )
    snapshot = pool_snapshot(pool.team_id, pool.name)
    tier = snapshot.tiers.get(plan.tier)
    if tier is None or tier.planner == TierPlanner.SINGLE_WORKER:
        raise InvalidInput(
            f"pool {pool.name!r} has no tier {plan.tier!r} that plans", param="tier"
        )
    require_trainable(
        snapshot, suite_version, needs_prices=plan.max_cost_micros is not None
    )


def _planner_number(pool: Pool, plan: ConductorTrainingPlan) -> int:
    """Return the light planner's version to learn from. Raises: NotFound, Conflict."""
    if plan.planner_number is not None:
        return planner_version(pool, plan.planner_number).number
    if pool.planner_version is not None:
        return pool.planner_version.number
    newest = planner_versions(pool).first()
    if newest is None:
        raise Conflict(
            f"pool {pool.name!r} has no light planner, which a conductor learns from; "
            "train one first"
        )
    return newest.number
