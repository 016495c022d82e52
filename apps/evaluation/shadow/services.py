"""Changes to shadow tests, each recorded in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.accounts.principal import Principal
from apps.accounts.rights import DIRECT, MANAGE_EVALUATIONS, RUN
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.core.ids import first_id
from apps.core.input_parts import values_read
from apps.evaluation.promotions.promotion import (
    candidate_promote,
    why_not_promotable,
)
from apps.evaluation.runnable import require_candidate
from apps.evaluation.shadow.models import MirrorState, ShadowOutcome, ShadowTest
from apps.evaluation.shadow.selectors import (
    FEWEST_PAIRS,
    mirrored_of,
    pairs_missing,
    shadow_list,
)
from apps.evaluation.shadow.settings import ShadowSettings
from apps.pools.selectors import pool_snapshot

MAX_OPEN = 10
"""Shadow tests of a team that have not ended."""


def shadow_start(
    *,
    team: Team,
    values: Mapping[str, Any],
    actor: Actor,
    principal: Principal | None = None,
) -> ShadowTest:
    """Begin a shadow test; a process of the site drives it.

    `principal` None: the operator starts it, by a command. Raises: InvalidFields,
    InvalidInput, NotFound; NotAllowed; Conflict if too many have not ended.
    """
    settings = values_read(ShadowSettings, values)
    if principal is not None:
        for right in (MANAGE_EVALUATIONS, RUN):
            principal.require(right)
        if settings.candidate.kind == "worker" or settings.grader is not None:
            principal.require(DIRECT)
    _require_possible(team, settings)
    if shadow_list(team.id).exclude(state=JobState.DONE).count() >= MAX_OPEN:
        raise Conflict(f"{MAX_OPEN} shadow tests have not ended; stop one first")
    now = timezone.now()
    since = settings.since or now
    test = ShadowTest(
        team=team,
        user=principal.user if principal else None,
        name=settings.name,
        settings=settings.values(),
        since=since,
        until=_until(since, settings.days),
        looked_until=first_id(since),
        state=JobState.WAITING,
        requested_by=actor_facts(actor),
        beat_at=now,
    )
    with transaction.atomic():
        test.save(force_insert=True)
        _record(test, "shadow_test.started", actor, {"settings": test.settings})
    return test


def shadow_stop(*, test: ShadowTest, actor: Actor) -> bool:
    """Mirror no further run, and stop those in progress; False: it has ended."""
    rows = shadow_list(test.team_id).filter(id=test.id)
    with transaction.atomic():
        changed = rows.exclude(state=JobState.DONE).filter(is_stopped=False)
        if not changed.update(is_stopped=True):
            return False
        _record(test, "shadow_test.stopped", actor, {})
    return True


def shadow_promote(*, test: ShadowTest, principal: Principal) -> None:
    """Let the tier become the candidate, once the test has enough pairs.

    Raises: as `candidate_promote`; Conflict if pairs are missing.
    """
    missing = pairs_missing(test)
    if missing and not why_not_promotable(test):
        raise Conflict(
            f"a promotion takes {FEWEST_PAIRS} pairs with both answers, and {missing} "
            "of them are missing"
        )
    candidate_promote(test=test, principal=principal)


def shadow_record_end(test: ShadowTest) -> None:
    """Record how a test ended. Call it in the transaction that ends it."""
    rows = mirrored_of(test)
    facts = {
        "outcome": str(test.outcome),
        "error": test.error,
        "mirrored": rows.filter(state=MirrorState.DONE).count(),
        "skipped": rows.filter(state=MirrorState.SKIPPED).count(),
    }
    failed = test.outcome == ShadowOutcome.FAILED
    outcome = "failure" if failed else "success"
    actor = Actor(**test.requested_by)
    _record(test, "shadow_test.ended", actor, facts, outcome)


def _require_possible(team: Team, settings: ShadowSettings) -> None:
    original = pool_snapshot(team.id, settings.pool)
    if settings.tier not in original.tiers:
        raise InvalidInput(
            f"pool {original.name!r} has no tier {settings.tier!r}", param="tier"
        )
    require_candidate(
        team.id,
        settings,
        grader=settings.grader,
        needs_prices=settings.max_cost_micros is not None,
    )


def _until(since: datetime, days: int) -> datetime:
    return since + timedelta(days=days)


def _record(
    test: ShadowTest,
    action: str,
    actor: Actor,
    facts: dict[str, Any],
    outcome: str = "success",
) -> None:
    facts = {"name": test.name, **facts}
    draft = EntryDraft(action, "shadow_test", test.id, actor, facts, outcome=outcome)
    entries_append(batch=Batch(test.team_id, (draft,)))
