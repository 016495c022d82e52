"""Changes to A/B tests, each recorded in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.accounts.principal import Principal
from apps.accounts.rights import DIRECT, MANAGE_EVALUATIONS
from apps.audit.jobs import actor_facts
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import ConductorError, Conflict, InvalidInput
from apps.core.input_parts import values_read
from apps.evaluation.ab.arms import arms_forget
from apps.evaluation.ab.models import ABOutcome, ABTest
from apps.evaluation.ab.selectors import ab_list, is_full, runs_of
from apps.evaluation.ab.settings import ABSettings
from apps.evaluation.promotions.promotion import candidate_promote
from apps.evaluation.runnable import require_candidate
from apps.pools.selectors import pool_snapshot


def ab_start(*, team: Team, values: Mapping[str, Any], principal: Principal) -> ABTest:
    """Let a candidate answer the callers of a share of the keys from now on.

    Raises: InvalidFields, InvalidInput, NotFound; NotAllowed; Conflict if the tier is
    in a test already.
    """
    principal.require(MANAGE_EVALUATIONS)
    settings = values_read(ABSettings, values)
    if settings.candidate.kind == "worker":
        principal.require(DIRECT)
    _require_possible(team, settings)
    actor, now = principal.actor, timezone.now()
    test = ABTest(
        team=team,
        user=principal.user,
        name=settings.name,
        settings=settings.values(),
        pool=settings.pool,
        tier=settings.tier,
        until=now + timedelta(days=settings.days),
        requested_by=actor_facts(actor),
    )
    try:
        with transaction.atomic():
            test.save(force_insert=True)
            _record(test, "started", actor, {"settings": test.settings})
            arms_forget()
    except IntegrityError as exc:
        name = settings.original_name
        raise Conflict(f"{name!r} is in an A/B test already; stop that first") from exc
    return test


def ab_stop(*, test: ABTest, actor: Actor) -> bool:
    """End a test: from the next run on the tier answers all; False: it has ended."""
    with transaction.atomic():
        if not _end(test, ABOutcome.STOPPED):
            return False
        _record(test, "stopped", actor, {})
        _record_end(test)
    return True


def ab_promote(*, test: ABTest, principal: Principal) -> None:
    """Let the tier become the candidate, for all; a test under way ends.

    Raises: as `candidate_promote`.
    """
    with transaction.atomic():
        candidate_promote(test=test, principal=principal)
        ab_stop(test=test, actor=principal.actor)


def ab_end_due(test: ABTest) -> bool:
    """End a test if it is over; False: it goes on, or has ended already."""
    outcome, why = _due(test)
    if outcome is None:
        return False
    with transaction.atomic():
        if not _end(test, outcome, why):
            return False
        _record_end(test)
    return True


def _due(test: ABTest) -> tuple[ABOutcome | None, str]:
    """Return how a test is to end now, and why; None: it goes on."""
    if test.until <= timezone.now() or is_full(test):
        return ABOutcome.COMPLETED, ""
    try:
        _require_possible(test.team, ABSettings.model_validate(test.settings))
    except ConductorError as exc:
        return ABOutcome.FAILED, exc.message
    return None, ""


def _end(test: ABTest, outcome: ABOutcome, error: str = "") -> bool:
    """Store how a test ended; False: it had ended. Call it in a transaction."""
    rows = ab_list(test.team_id).filter(id=test.id, outcome="")
    values = {
        "outcome": outcome,
        "error": error[:300],
        "finished_at": timezone.now(),
    }
    if not rows.update(**values):
        return False
    for name, value in values.items():
        setattr(test, name, value)
    arms_forget()
    return True


def _require_possible(team: Team, settings: ABSettings) -> None:
    original = pool_snapshot(team.id, settings.pool)
    if settings.tier not in original.tiers:
        raise InvalidInput(
            f"pool {original.name!r} has no tier {settings.tier!r}", param="tier"
        )
    require_candidate(team.id, settings)


def _record_end(test: ABTest) -> None:
    rows = runs_of(test)
    facts = {
        "outcome": str(test.outcome),
        "error": test.error,
        "runs_a": rows.filter(ab_arm="a").count(),
        "runs_b": rows.filter(ab_arm="b").count(),
    }
    failed = test.outcome == ABOutcome.FAILED
    outcome = "failure" if failed else "success"
    _record(test, "ended", Actor(**test.requested_by), facts, outcome)


def _record(
    test: ABTest,
    action: str,
    actor: Actor,
    facts: dict[str, Any],
    outcome: str = "success",
) -> None:
    facts = {"name": test.name, **facts}
    name = f"{ABTest.SUBJECT}.{action}"
    draft = EntryDraft(name, ABTest.SUBJECT, test.id, actor, facts, outcome=outcome)
    entries_append(batch=Batch(test.team_id, (draft,)))
