"""Promotes the candidate of a test: a tier becomes it, and back.

What a promotion changes, and what that was before, are kept with the test; so going
back needs no version of the pool, and is refused if one of these values has changed.
"""

from __future__ import annotations

from django.db import transaction

from apps.accounts.principal import Principal
from apps.accounts.rights import MANAGE_EVALUATIONS
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.errors import ConductorError, Conflict, InvalidInput
from apps.evaluation.candidate_tests import CandidateTest
from apps.evaluation.promotions.setups import Setup, pool_of, promoted_setup
from apps.evaluation.promotions.words import setup_words
from apps.pools.models import Pool
from apps.pools.selectors import setup_now
from apps.pools.services import setup_put

CHANGED_SINCE = "the tier has been changed since the promotion; change it under Pools"


def why_not_promotable(test: CandidateTest) -> str:
    """Say why a candidate cannot become the tier now; empty: it can, or it is."""
    if test.replaced is not None:
        return ""
    try:
        pool = pool_of(test)
        after = promoted_setup(test, pool)
        _require_different(test, setup_now(pool, after), after)
    except ConductorError as exc:
        return exc.message
    return ""


def why_not_demotable(test: CandidateTest) -> str:
    """Say why a promotion cannot be taken back now; empty: it can, or there is none."""
    if test.replaced is None:
        return ""
    try:
        _require_unchanged(pool_of(test), test.replaced["after"])
    except ConductorError as exc:
        return exc.message
    return ""


def promotion_of(test: CandidateTest) -> list[str]:
    """Return what a promotion changes, or taking it back, in one sentence each.

    If it is impossible, the reason alone.
    """
    try:
        pool = pool_of(test)
        if test.replaced is None:
            after = promoted_setup(test, pool)
        else:
            after = test.replaced["before"]
        return setup_words(pool, setup_now(pool, after), after)
    except ConductorError as exc:
        return [exc.message]


def candidate_promote(*, test: CandidateTest, principal: Principal) -> None:
    """Let the tier of a test become its candidate, from the next run on.

    Raises: NotAllowed; Conflict if no tier can be this, or it is so already; NotFound,
    VersionConflict as `setup_put`.
    """
    principal.require(MANAGE_EVALUATIONS)
    if test.replaced is not None:
        raise Conflict("the candidate is promoted already")
    pool = pool_of(test)
    after = promoted_setup(test, pool)
    before = setup_now(pool, after)
    _require_different(test, before, after)
    with transaction.atomic():
        _change(pool, after, principal)
        test.replaced = {"before": before, "after": after}
        test.save(update_fields=["replaced"])
        _record(test, "promoted", principal, before, after)


def candidate_demote(*, test: CandidateTest, principal: Principal) -> None:
    """Let the tier become again what it was before the promotion.

    Raises: NotAllowed; Conflict if nothing is promoted, if the tier has been changed
    since, or if something that it was is gone; NotFound, VersionConflict as
    `setup_put`.
    """
    principal.require(MANAGE_EVALUATIONS)
    if test.replaced is None:
        raise Conflict("the candidate is not promoted")
    pool = pool_of(test)
    before, after = test.replaced["before"], test.replaced["after"]
    _require_unchanged(pool, after)
    with transaction.atomic():
        _change(pool, before, principal)
        test.replaced = None
        test.save(update_fields=["replaced"])
        _record(test, "demoted", principal, after, before)


def _require_different(test: CandidateTest, before: Setup, after: Setup) -> None:
    if before == after:
        raise Conflict(
            f"tier {test.settings['tier']!r} is what the candidate was already"
        )


def _require_unchanged(pool: Pool, after: Setup) -> None:
    if setup_now(pool, after) != after:
        raise Conflict(CHANGED_SINCE)


def _change(pool: Pool, setup: Setup, principal: Principal) -> None:
    try:
        setup_put(
            pool=pool,
            setup=setup,
            actor=principal.actor,
            within=principal.key,
            expected_version=pool.version,
        )
    except InvalidInput as exc:  # of something that is gone by now
        raise Conflict(exc.message) from exc


def _record(
    test: CandidateTest, action: str, principal: Principal, before: Setup, after: Setup
) -> None:
    facts = {"name": test.name, "before": before, "after": after}
    name, actor = f"{test.SUBJECT}.{action}", principal.actor
    draft = EntryDraft(name, test.SUBJECT, test.id, actor, facts)
    entries_append(batch=Batch(test.team_id, (draft,)))
