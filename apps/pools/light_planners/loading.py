"""Opens the fitted arrays of light planners, and keeps those in use in memory."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from apps.core.keyring import unseal
from apps.pools.errors import PoolUnusable
from apps.pools.light_planners.models import PlannerCounts, PlannerVersion
from apps.pools.types import PlannerSnapshot

if TYPE_CHECKING:
    from apps.planners.light.model import LightModel

MAX_KEPT = 64
"""Models in memory; one of six workers takes about 1 MB."""

_kept: OrderedDict[tuple[uuid.UUID, int], LightModel] = OrderedDict()
"""By version and revision of its counts; 0: as fitted."""
_lock = Lock()


def light_planner(
    team_id: uuid.UUID, pool_id: uuid.UUID, number: int
) -> PlannerSnapshot:
    """Return a version of a pool's light planner, as it was fitted. Blocks.

    Raises: ValueError if there is no such version; SecretUnreadable; PoolUnusable.
    """
    rows = PlannerVersion.objects.for_team(team_id).filter(pool_id=pool_id)
    version = rows.filter(number=number).first()
    if version is None:
        raise ValueError(f"the pool has no version {number} of its light planner")
    return _snapshot(version, fitted_model(version))


def fitted_model(version: PlannerVersion) -> LightModel:
    """Return what a version knew when it was fitted. Blocks.

    Raises: SecretUnreadable; PoolUnusable if its bytes are no model.
    """
    return _remembered((version.id, 0), lambda: _opened(version))


def planner_snapshot(version: PlannerVersion | None) -> PlannerSnapshot | None:
    """Return a version with what it knows by now, ready to plan; None: there is none.

    Blocks. Raises: SecretUnreadable; PoolUnusable if its bytes are no model.
    """
    if version is None:
        return None
    rows = PlannerCounts.objects.for_team(version.team_id).filter(version=version)
    revision = rows.values_list("revision", flat=True).first()
    model = fitted_model(version)
    if revision:
        model = _remembered(
            (version.id, revision),
            lambda: _with_counts(model, bytes(rows.get().arrays)),
        )
    return _snapshot(version, model)


def _remembered(
    key: tuple[uuid.UUID, int], opened: Callable[[], LightModel]
) -> LightModel:
    with _lock:
        if key not in _kept:
            _kept[key] = opened()
            while len(_kept) > MAX_KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return _kept[key]


def _snapshot(version: PlannerVersion, model: LightModel) -> PlannerSnapshot:
    return PlannerSnapshot(version.number, model, version.answer_worth_micros)


def _with_counts(model: LightModel, arrays: bytes) -> LightModel:
    from apps.planners.light.live.stored_counts import with_counts
    from apps.planners.light.model import UnreadableModel

    if not arrays:
        return model
    try:
        return with_counts(model, arrays)
    except UnreadableModel as exc:
        raise PoolUnusable("what the light planner learned cannot be read") from exc


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
