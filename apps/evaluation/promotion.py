"""Promotes the candidate of a test: a tier becomes it, and back."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from pydantic import ConfigDict

from apps.accounts.principal import Principal
from apps.accounts.rights import MANAGE_EVALUATIONS
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.evaluation.candidate_settings import CandidateSettings
from apps.evaluation.candidate_tests import CandidateTest
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.evaluation.systems.tier import TierSystem
from apps.pools.models import Pool, TierPlanner
from apps.pools.selectors import access_pool, pool_list, pool_values
from apps.pools.services import pool_update

Values = dict[str, Any]


class _Settings(CandidateSettings):
    """The settings of any kind of test."""

    model_config = ConfigDict(extra="ignore")


def why_not_promotable(test: CandidateTest) -> str:
    """Say why a candidate cannot become the tier; empty: it can."""
    try:
        pool = _pool(test)
        _promoted(pool, _settings(test))
    except InvalidInput as exc:
        return str(exc.message)
    return ""


def promotion_of(test: CandidateTest) -> list[str]:
    """Return what a promotion changes, or taking it back, in one sentence each."""
    try:
        pool = _pool(test)
        if test.replaced is None:
            after = _promoted(pool, _settings(test))
        else:
            after = test.replaced["before"]
    except InvalidInput as exc:
        return [str(exc.message)]
    before = _kept(pool_values(pool), after)
    names = {str(p.worker_id): p.worker.name for p in pool.places.all()}
    found = []
    if before.get("fallback_id") != after.get("fallback_id"):
        old, new = (
            names.get(each["fallback_id"], "another worker") for each in (before, after)
        )
        found.append(
            f"{new} becomes the fallback worker of pool {pool.name}, instead of {old}."
        )
    for tier, values in after["tiers"].items():
        had = before["tiers"][tier]
        found += [
            f"Tier {tier}: {name} becomes {_word(value)}; it is {_word(had[name])}."
            for name, value in values.items()
            if had[name] != value
        ]
    return found


def candidate_promote(*, test: CandidateTest, principal: Principal) -> None:
    """Let the tier of a test become its candidate, from the next run on.

    Raises: NotAllowed; InvalidInput if no tier can be this; Conflict if it is so
    already; NotFound, InvalidFields, VersionConflict as `pool_update`.
    """
    principal.require(MANAGE_EVALUATIONS)
    if test.replaced is not None:
        raise Conflict("the candidate is promoted already")
    pool = _pool(test)
    settings = _settings(test)
    after = _promoted(pool, settings)
    before = _kept(pool_values(pool), after)
    if before == after:
        raise Conflict(f"tier {settings.tier!r} is what the candidate was already")
    with transaction.atomic():
        _change(pool, after, principal.actor)
        test.replaced = {"before": before, "after": after}
        test.save(update_fields=["replaced"])
        _record(test, "promoted", principal.actor, before, after)


def candidate_demote(*, test: CandidateTest, principal: Principal) -> None:
    """Let the tier become again what it was before the promotion.

    Raises: NotAllowed; Conflict if nothing is promoted, or if the tier has been
    changed since; as `pool_update`.
    """
    principal.require(MANAGE_EVALUATIONS)
    if test.replaced is None:
        raise Conflict("the candidate is not promoted")
    pool = _pool(test)
    before, after = test.replaced["before"], test.replaced["after"]
    if _kept(pool_values(pool), after) != after:
        raise Conflict(
            "the tier has been changed since the promotion; change it under Pools"
        )
    with transaction.atomic():
        _change(pool, before, principal.actor)
        test.replaced = None
        test.save(update_fields=["replaced"])
        _record(test, "demoted", principal.actor, after, before)


def _settings(test: CandidateTest) -> CandidateSettings:
    return _Settings.model_validate(test.settings)


def _pool(test: CandidateTest) -> Pool:
    """Return the pool of the tier. Raises: InvalidInput if it is gone."""
    name = test.settings["pool"]
    found = pool_list(test.team_id).filter(name=name).first()
    if found is None:
        raise InvalidInput(f"this team has no pool {name!r} any more")
    return access_pool(test.team_id, found.id)


def _promoted(pool: Pool, settings: CandidateSettings) -> Values:
    """Return the pool's values that make its tier the candidate. Raises: InvalidInput
    if no tier can be it.
    """
    candidate = settings.candidate
    if settings.pool_of_candidate != settings.pool:
        raise InvalidInput(
            f"the candidate is of pool {settings.pool_of_candidate!r}: let callers "
            "name that pool, or make it the default under Pools"
        )
    if isinstance(candidate, WorkerSystem):
        return _worker(pool, settings.tier, candidate.worker)
    if isinstance(candidate, TierSystem) and candidate.is_tier:
        return _tier(pool, settings.tier, candidate)
    raise InvalidInput(f"no tier of a pool can be {candidate.label}")


def _worker(pool: Pool, tier: str, name: str) -> Values:
    place = pool.places.filter(worker__name=name).select_related("worker").first()
    if place is None:
        raise InvalidInput(f"pool {pool.name!r} has no worker {name!r} any more")
    return {
        "fallback_id": str(place.worker_id),
        "tiers": {tier: {"planner": str(TierPlanner.SINGLE_WORKER)}},
    }


def _tier(pool: Pool, tier: str, candidate: TierSystem) -> Values:
    tiers = pool_values(pool)["tiers"]
    if candidate.tier not in tiers:
        raise InvalidInput(
            f"pool {pool.name!r} has no tier {candidate.tier!r} any more"
        )
    limits = {"max_rounds": candidate.max_rounds, "max_steps": candidate.max_steps}
    given = {name: value for name, value in limits.items() if value is not None}
    return {"tiers": {tier: {**tiers[candidate.tier], **given}}}


def _kept(values: Values, names: Values) -> Values:
    """Return those of the values that `names` has."""
    return {
        name: _kept(values[name], inner) if isinstance(inner, dict) else values[name]
        for name, inner in names.items()
    }


def _word(value: object) -> str:
    """Return a value of a tier for people."""
    if value in TierPlanner.values:
        return f"“{TierPlanner(value).label}”"
    return "none" if value is None else str(value)


def _change(pool: Pool, values: Values, actor: Actor) -> None:
    pool_update(pool=pool, values=values, actor=actor, expected_version=pool.version)


def _record(
    test: CandidateTest, action: str, actor: Actor, before: Values, after: Values
) -> None:
    facts = {"name": test.name, "before": before, "after": after}
    draft = EntryDraft(f"{test.SUBJECT}.{action}", test.SUBJECT, test.id, actor, facts)
    entries_append(batch=Batch(test.team_id, (draft,)))
