"""The workers of a team that can be asked directly, without a plan."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from apps.pools.models import PoolWorker, WorkerKind
from apps.runs.planning.model_resolver import direct_model


@dataclass(frozen=True, slots=True)
class DirectChoice:
    """A worker by its name, and the model name that asks it directly."""

    name: str
    model: str


def direct_choices(team_id: uuid.UUID) -> list[DirectChoice]:
    """Return the enabled workers of all pools, each once; the default pool is first."""
    places = PoolWorker.objects.for_team(team_id).filter(
        worker__is_enabled=True, worker__kind=WorkerKind.CHAT
    )
    ordered = places.order_by("-pool__is_default", "pool__name", "position")
    found: dict[str, DirectChoice] = {}
    columns = ("worker__name", "pool__name", "pool__is_default")
    for worker, pool, is_default in ordered.values_list(*columns):
        model = direct_model(worker, None if is_default else pool)
        found.setdefault(worker, DirectChoice(worker, model))
    return list(found.values())
