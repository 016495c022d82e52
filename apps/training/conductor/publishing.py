"""Publishes versions of conductors: where they are served, and who plans with them.

Each version is a conductor of the team of its own, so a pool that takes back an earlier
version of itself plans with the earlier weights again.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from pydantic import Field

from apps.accounts.types import KeyHolder
from apps.audit.job_news import job_news_send
from apps.audit.models import JobState
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.core.input_parts import InputPart, values_read
from apps.pools.models import Conductor, ConductorMode, Pool, TierPlanner
from apps.pools.prompt_styles import PromptStyle
from apps.pools.selectors import access_pool, planner_versions
from apps.pools.services import (
    conductor_create,
    conductor_update,
    planner_version_use,
    pool_update,
)
from apps.pools.value_types import BaseUrl, ModelName
from apps.training.conductor.folders import folder_delete, version_folder
from apps.training.conductor.models import (
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)

PLAN_TOKENS = 1_024
"""The length of plans that conductors are trained with."""


class ServedConductor(InputPart):
    """Where a version is served."""

    base_url: BaseUrl
    """Of the server, with `/v1`."""
    served_name: ModelName | None = None
    """What the server calls it. None: `conductor-NUMBER`, as `conductor_publish` prints
    it."""
    credential_id: UUID | None = None
    """The key that the server wants. None: it wants none."""
    max_output_tokens: Annotated[int, Field(ge=16, le=8_192)] | None = None
    """None: as it is; at first the length of plans that conductors are trained with."""


def served_name(version: ConductorVersion) -> str:
    """Return what a server calls a version unless it says otherwise."""
    return version.served_name or f"conductor-{version.number}"


def serving_command(version: ConductorVersion) -> str:
    """Return how vLLM serves a version: variables of `deploy/vllm/serve.sh`."""
    folder, name = shlex.quote(str(version_folder(version))), served_name(version)
    if version.is_adapter:
        base = shlex.quote(str(version.trained_on["base_model"]))
        adapter = shlex.quote(f"{name}={version_folder(version)}")
        variables = f"SERVE_MODEL={base} SERVE_ADAPTERS={adapter}"
    else:
        variables = f"SERVE_MODEL={folder} SERVE_NAMES={shlex.quote(name)}"
    return f"{variables} deploy/vllm/serve.sh"


def conductor_version_publish(
    *,
    version: ConductorVersion,
    values: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
) -> ConductorVersion:
    """Make a version a conductor of the team, or say where it is served now.

    `values`: of a `ServedConductor`. No tier plans with it yet. If its training waits
    for that, the comparison on held-out tasks begins. `within` is the key that does it;
    None if a person does. Raises: InvalidFields; NotAllowed; Conflict if its pool is
    gone or lost its light planner.
    """
    served = values_read(ServedConductor, values)
    name = served.served_name or served_name(version)
    with transaction.atomic():
        pool = _pool_of(version)
        _require_measurements(pool, version, actor)
        conductor = _conductor_put(version, served, name, actor, within)
        version.conductor, version.served_name = conductor, name
        version.published_at = timezone.now()
        version.save(update_fields=["conductor", "served_name", "published_at"])
        facts = {
            "name": conductor.name,
            "conductor_version": version.number,
            "digest": version.digest,
            "served_name": name,
            "pool": pool.name,
        }
        _record(conductor, "conductor.published", actor, facts)
        _measure(version)
    return version


def conductor_version_use(
    *,
    version: ConductorVersion,
    actor: Actor,
    tier: str | None = None,
    reason: str = "",
) -> Pool:
    """Let a tier of its pool plan with a published version, from the next run on.

    `tier` None: the one that it was trained for. A pool has one conductor, so its other
    tiers that plan with a conductor do so with this one too. Their runs have as many
    plans as the version was trained to make. Going back is the same with an earlier
    version, or a restored version of the pool. Raises: InvalidInput if it did not pass
    the gate and no reason is given; InvalidFields; Conflict if it was not published,
    or its pool is gone.
    """
    if version.conductor is None:
        raise Conflict(f"version {version.number} was not published")
    why = reason.strip()
    if not why and not (version.gate and version.gate["is_better"]):
        found = "is not better" if version.gate else "was not measured"
        raise InvalidInput(
            f"version {version.number} {found}: say why it is to be used all the same",
            param="reason",
        )
    name = tier or str(version.trained_on["settings"]["tier"])
    with transaction.atomic():
        pool = _pool_of(version)
        if name not in {each.name for each in pool.tiers.all()}:
            raise InvalidInput(f"pool {pool.name!r} has no tier {name!r}", param="tier")
        planned = {"planner": str(TierPlanner.CONDUCTOR), "max_rounds": version.rounds}
        tiers = {name: planned}
        # The conductor is the pool's: it plans for them as well.
        tiers |= {also: {"max_rounds": version.rounds} for also in _others(pool, name)}
        change = {"conductor_id": str(version.conductor_id), "tiers": tiers}
        pool_update(pool=pool, values=change, actor=actor)
        facts = {
            "name": version.conductor.name,
            "conductor_version": version.number,
            "pool": pool.name,
            "tier": name,
            "other_tiers": sorted(tiers.keys() - {name}),
            "passed_gate": bool(version.gate and version.gate["is_better"]),
            **({"reason": why} if why else {}),
        }
        _record(version.conductor, "conductor.used", actor, facts)
    return access_pool(pool.team_id, pool.id)


def conductor_version_delete(*, version: ConductorVersion, actor: Actor) -> None:
    """Delete a version with its weights. Its conductor stays, to be deleted by itself.

    Raises: Conflict while a pool plans with it, or while it is measured.
    """
    if version.conductor is not None:
        pools = Pool.objects.for_team(version.team_id).filter(
            conductor=version.conductor
        )
        if pools.exists():
            raise Conflict(f"a pool plans with version {version.number}")
    training = version.training
    if training is not None and training.state != JobState.DONE:
        raise Conflict("its training has not ended; cancel that first")
    training_id = UUID(version.folder.partition("/")[0])
    facts = {"conductor_version": version.number, "digest": version.digest}
    draft = EntryDraft(
        "conductor_training.weights_deleted",
        "conductor_training",
        training_id,
        actor,
        facts,
    )
    with transaction.atomic():
        version.delete()
        entries_append(batch=Batch(version.team_id, (draft,)))
        transaction.on_commit(lambda: folder_delete(training_id))


def _others(pool: Pool, name: str) -> list[str]:
    """Return the other tiers of a pool that its conductor plans for."""
    tiers = pool.tiers.exclude(name=name)
    return [t.name for t in tiers if TierPlanner(t.planner).has_conductor]


def _pool_of(version: ConductorVersion) -> Pool:
    if version.pool_id is None:
        raise Conflict(f"the pool of version {version.number} is gone")
    return access_pool(version.team_id, version.pool_id)


def _require_measurements(pool: Pool, version: ConductorVersion, actor: Actor) -> None:
    """See that the pool has what a conductor reads of workers. Raises: Conflict."""
    if pool.planner_version is not None:
        return
    number = version.trained_on["planner_version"]
    if not planner_versions(pool).filter(number=number).exists():
        raise Conflict(
            f"pool {pool.name!r} has no light planner, whose measurements the "
            "conductor reads; train one first"
        )
    planner_version_use(pool=pool, number=number, tiers={}, actor=actor)


def _conductor_put(
    version: ConductorVersion,
    served: ServedConductor,
    name: str,
    actor: Actor,
    within: KeyHolder | None,
) -> Conductor:
    values: dict[str, Any] = {
        "base_url": served.base_url,
        "credential_id": served.credential_id,
        "model": name,
    }
    if served.max_output_tokens is not None:
        values["max_output_tokens"] = served.max_output_tokens
    if version.conductor is not None:
        return conductor_update(
            conductor=version.conductor, values=values, actor=actor, within=within
        )
    asked = {
        "name": f"trained-{version.number}",
        "mode": str(ConductorMode.LISTS),
        "prompt_style": str(PromptStyle.BRIEF),
        "temperature": "0",
        "max_output_tokens": PLAN_TOKENS,
        # The team's own server; a price can be set under Pools.
        "price": {"input_usd": "0", "output_usd": "0"},
    }
    return conductor_create(
        team=version.team, values={**asked, **values}, actor=actor, within=within
    )


def _measure(version: ConductorVersion) -> None:
    """Let the comparison begin if the version's training waits for its server."""
    if version.training_id is None:
        return
    rows = ConductorTraining.objects.for_team(version.team_id)
    waits = rows.filter(pk=version.training_id, stage=ConductorStage.SERVE)
    now = timezone.now()
    waits.update(stage=ConductorStage.GATE, stage_since=now, beat_at=now, claim_id=None)
    transaction.on_commit(job_news_send)


def _record(
    conductor: Conductor, action: str, actor: Actor, facts: Mapping[str, Any]
) -> None:
    draft = EntryDraft(action, "conductor", conductor.id, actor, facts)
    entries_append(batch=Batch(conductor.team_id, (draft,)))
