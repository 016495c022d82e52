"""Opens the fitted arrays of light planners, and keeps those in use in memory."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from apps.core.keyring import unseal
from apps.pools.errors import PoolUnusable
from apps.pools.light_planners.models import PlannerVersion
from apps.pools.types import PlannerSnapshot

if TYPE_CHECKING:
    from apps.planners.light.model import LightModel

MAX_KEPT = 64
"""Models in memory; one of six workers takes about 1 MB."""

_kept: OrderedDict[uuid.UUID, LightModel] = OrderedDict()
_lock = Lock()


def light_planner(
    team_id: uuid.UUID, pool_id: uuid.UUID, number: int
) -> PlannerSnapshot:
    """Return a version of a pool's light planner. Blocks.

    Raises: ValueError if there is no such version; SecretUnreadable; PoolUnusable.
    """
    rows = PlannerVersion.objects.for_team(team_id).filter(pool_id=pool_id)
    found = planner_snapshot(rows.filter(number=number).first())
    if found is None:
        raise ValueError(f"the pool has no version {number} of its light planner")
    return found


def planner_snapshot(version: PlannerVersion | None) -> PlannerSnapshot | None:
    """Return a version ready to plan; None: there is none. Blocks.

    Raises: SecretUnreadable; PoolUnusable if its bytes are no model.
    """
    if version is None:
        return None
    with _lock:
        if version.id not in _kept:
            _kept[version.id] = _opened(version)
            while len(_kept) > MAX_KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(version.id)
        return PlannerSnapshot(
            version.number, _kept[version.id], version.answer_worth_micros
        )


def _opened(version: PlannerVersion) -> LightModel:
    from apps.planners.light.model import LightModel, UnreadableModel

    try:
        stored = LightModel.from_bytes(
            unseal(bytes(version.sealed), context=version.context)
        )
        return replace(stored, fingerprints=version.fingerprints)
    except UnreadableModel as exc:
        raise PoolUnusable(
            f"version {version.number} of the light planner cannot be read"
        ) from exc
