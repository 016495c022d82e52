"""Versions of a pool's light planner: kept, measured, put to use, and taken back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.audit.types import Actor
from apps.core.errors import Conflict
from apps.core.ids import new_id
from apps.core.keyring import seal
from apps.planners.light.sources import ModelSource
from apps.pools.models import PlannerVersion, Pool, Tier, TierPlanner
from apps.pools.pool_transaction import pool_change
from apps.pools.selectors import access_pool, planner_version
from apps.pools.serializers import tier_values

MAX_VERSIONS = 50
"""Versions that a pool keeps; then the oldest go that it does not use."""
UNRECORDED = ("workers", "fingerprints")
"""Values of a fit that its entry in the ledger does not repeat as they are."""


@dataclass(frozen=True, slots=True)
class PlannerFit:
    """What is known of a fit, apart from its arrays."""

    runs: int
    graded_steps: int
    kinds: int
    workers: tuple[str, ...]
    data_digest: str
    """SHA-256 of the learning data, in hexadecimal."""
    source: ModelSource = ModelSource.FITTED
    embedding: Mapping[str, Any] | None = None
    """The embedding `worker` that tells kinds of prompts apart, its `model`, the
    `width` of its vectors, how many `prompts` have one, and how many were `left_out`.
    None: n-grams do."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """Of the model behind each worker that it was fitted on. One that is not there is
    not known."""
    answer_worth_micros: int | None = None
    """What a right answer is worth to it, unless a tier says. None: so many answers of
    the dearest worker of each request; see `apps.planners.answer_worth`."""

    def values(self) -> dict[str, Any]:
        """Return it as JSON values, as `PlannerVersion.fit` has them."""
        return {
            "runs": self.runs,
            "graded_steps": self.graded_steps,
            "kinds": self.kinds,
            "workers": list(self.workers),
            "source": self.source.value,
            "embedding": None if self.embedding is None else dict(self.embedding),
            "fingerprints": dict(self.fingerprints),
            "answer_worth_micros": self.answer_worth_micros,
        }


def planner_version_add(
    *, pool: Pool, stored: bytes, fit: PlannerFit, actor: Actor
) -> PlannerVersion:
    """Keep a fitted light planner as the pool's newest version; no tier uses it yet.

    `stored` is what `LightModel.to_bytes` returns. Raises: NotFound.
    """
    with pool_change(pool.team_id, actor) as change:
        row = access_pool(pool.team_id, pool.id)
        kept = PlannerVersion.objects.for_team(pool.team_id).filter(pool=row)
        newest = kept.order_by("-number").first()
        version = PlannerVersion(
            id=new_id(),
            team_id=pool.team_id,
            pool=row,
            number=newest.number + 1 if newest else 1,
            digest=hashlib.sha256(stored).hexdigest(),
            data_digest=fit.data_digest,
            fit=fit.values(),
            created_by=actor.display[:200],
        )
        version.sealed = seal(stored, context=version.context)
        version.save(force_insert=True)
        in_use = row.planner_version_id
        for old in kept.order_by("-number")[MAX_VERSIONS:]:
            if old.id != in_use:
                old.delete()
        change.record(
            "pool.planner_fitted",
            row,
            planner_version=version.number,
            digest=version.digest,
            data_digest=fit.data_digest,
            **{k: v for k, v in fit.values().items() if k not in UNRECORDED},
            workers=list(fit.workers),
        )
    return version


def planner_version_measured(
    *, version: PlannerVersion, gate: Mapping[str, Any]
) -> None:
    """Keep how a version did on held-out tasks."""
    version.gate = dict(gate)
    version.save(update_fields=["gate"])


def planner_version_use(
    *,
    pool: Pool,
    number: int | None,
    tiers: Mapping[str, TierPlanner],
    actor: Actor,
    reason: str = "",
) -> Pool:
    """Let tiers of a pool plan with a version of its light planner, or with none.

    `tiers` says who plans those that change. None: the pool has no light planner any
    more, so every tier that uses one has to be among them.

    Raises: NotFound, Conflict.
    """
    with pool_change(pool.team_id, actor) as change:
        row = access_pool(pool.team_id, pool.id)
        before = _in_use(row)
        version = None if number is None else planner_version(row, number)
        row.planner_version = version
        row.save(update_fields=["planner_version"])
        of_pool = Tier.objects.for_team(pool.team_id).filter(pool=row)
        for name, planner in tiers.items():
            if planner.has_conductor and row.conductor_id is None:
                raise Conflict(f"tier {name}: the pool has no conductor to plan with")
            of_pool.filter(name=name).update(planner=planner)
        light = [t.name for t in of_pool if TierPlanner(t.planner).is_light]
        if version is None and light:
            raise Conflict(
                f"{', '.join(light)}: the tier plans with the light planner; say who "
                "plans it instead"
            )
        row = access_pool(pool.team_id, pool.id)
        after = _in_use(row)
        if before != after:
            why = {"reason": reason} if reason else {}
            change.record("pool.planner_used", row, before=before, after=after, **why)
    return access_pool(pool.team_id, pool.id)


def _in_use(pool: Pool) -> dict[str, Any]:
    version = pool.planner_version
    return {
        "planner_version": None if version is None else version.number,
        "tiers": {t.name: tier_values(t)["planner"] for t in pool.tiers.all()},
    }
