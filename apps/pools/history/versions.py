"""The versions of a pool, and the differences between them.

The document of a version is everything the pool was made of, as JSON without secrets.
Two versions of a pool with equal documents do not exist: whatever changes a document
counts up the version, and nothing else does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Exists, F, OuterRef

from apps.pools.models import (
    Conductor,
    Credential,
    PlannerVersion,
    Pool,
    PoolVersion,
    Worker,
)
from apps.pools.serializers import pool_values, recorded_values
from apps.pools.types import Change
from apps.pools.worker_figures.profiles import present_profiles, profile_card

Document = dict[str, Any]


def pool_document(pool: Pool) -> Document:
    """Return everything a pool is made of, by names that people know."""
    values = pool_values(pool)
    places = sorted(pool.places.all(), key=lambda place: place.position)
    return {
        "name": values["name"],
        "is_default": values["is_default"],
        "fallback": pool.fallback.name,
        "retries_refusals": values["retries_refusals"],
        "conductor": None if pool.conductor is None else _model(pool.conductor),
        **_light_planner(pool.planner_version),
        "workers": [
            {
                **_model(place.worker),
                **_measured(place.worker),
                "may_substitute": place.may_substitute,
            }
            for place in places
        ],
        "tiers": values["tiers"],
    }


def versions_begin(team_id: uuid.UUID) -> None:
    """Write down the present version of pools whose version has no document yet.

    Those were made before versions were kept; call it before a change.
    """
    written = PoolVersion.objects.for_team(team_id).filter(
        pool=OuterRef("pk"), version=OuterRef("version")
    )
    for pool in _complete_pools(team_id).filter(~Exists(written)):
        _write(pool, pool_document(pool), "")


def versions_advance(team_id: uuid.UUID, actor_name: str) -> list[Pool]:
    """Count up every pool that is not what its version says; return the new versions.

    Call it after a change, in its transaction.
    """
    written = {
        (row.pool_id, row.version): row.document
        for row in PoolVersion.objects.for_team(team_id).filter(
            version=F("pool__version")
        )
    }
    advanced = []
    for pool in _complete_pools(team_id):
        document = pool_document(pool)
        present = written.get((pool.id, pool.version))
        if present == document:
            continue
        if present is not None:
            pool.version += 1
            pool.save(update_fields=["version"])
        _write(pool, document, actor_name)
        advanced.append(pool)
    return advanced


def pool_version_changes(older: PoolVersion, newer: PoolVersion) -> list[Change]:
    """Return what differs between two versions of a pool, value by value.

    Workers are told apart by their ids and called by their newer names.
    """
    names = {
        **_names(older.document),
        **_names(newer.document),
    }
    before = dict(_leaves(older.document, names))
    after = dict(_leaves(newer.document, names))
    return [
        Change(path, before.get(path), after.get(path))
        for path in {**before, **after}
        if before.get(path) != after.get(path)
    ]


def _complete_pools(team_id: uuid.UUID) -> Any:
    """Return a team's pools with all that their documents need."""
    return (
        Pool.objects.for_team(team_id)
        .select_related("fallback", "conductor__credential", "planner_version")
        .prefetch_related(
            "tiers",
            "conductor__prices",
            "places__worker__credential",
            "places__worker__prices",
            "places__worker__profiles",
        )
    )


def _write(pool: Pool, document: Document, actor_name: str) -> None:
    PoolVersion.objects.create(
        team_id=pool.team_id,
        pool=pool,
        version=pool.version,
        document=document,
        actor_name=actor_name[:200],
    )


def _model(model: Worker | Conductor) -> Document:
    values = recorded_values(model)
    del values["credential_id"]
    credential = _credential(model.credential)
    return {"id": str(model.id), **values, "credential": credential}


def _light_planner(version: PlannerVersion | None) -> Document:
    """Return which version of its light planner a pool uses, if it has one."""
    if version is None:
        return {}
    return {"light_planner": {"version": version.number, "digest": version.digest}}


def _measured(worker: Worker) -> Document:
    """Return what a conductor may read of a worker, if it was calibrated."""
    card = profile_card(present_profiles(worker))
    return {"measured": card} if card else {}


def _credential(credential: Credential | None) -> Document | None:
    if credential is None:
        return None
    return {
        "name": credential.name,
        "host": credential.host,
        "set_at": credential.updated_at.isoformat(),
    }


def _names(document: Mapping[str, Any]) -> dict[str, str]:
    return {worker["id"]: worker["name"] for worker in document["workers"]}


def _leaves(
    document: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Yield every value that is not null, by its path."""
    workers = document["workers"]
    yield "workers", [worker["name"] for worker in workers]
    for worker in workers:
        yield from _flatten(f"workers.{names[worker['id']]}", worker)
    rest = {key: value for key, value in document.items() if key != "workers"}
    yield from _flatten("", rest)


def _flatten(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        if value is not None:
            yield path, value
        return
    # Sorted: PostgreSQL keeps no order of keys.
    for key, inner in sorted(value.items()):
        if key not in {"id", "valid_from"}:
            yield from _flatten(f"{path}.{key}" if path else key, inner)
