"""Setups: values of a pool and of its models that are changed, and compared, together.

A setup has values of a pool, as `pool_update` takes them, and values of workers and
conductors by their ids, as `worker_update` and `conductor_update` take them. It names
only what is to change. JSON, without a secret.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from apps.pools.errors import PoolUnusable
from apps.pools.history.past_rows import PastModel, PastPool, past_pool
from apps.pools.models import Conductor, Pool, Price, TierName, Worker
from apps.pools.serializers import (
    conductor_values,
    pool_values,
    price_in_force,
    price_values,
    tier_values,
    worker_values,
)

Values = dict[str, Any]
MODELS = ("workers", "conductors")
"""The parts of a setup that are not of the pool itself."""
OF_TODAY = ("name", "tags", "price")
"""Values that a version does not bring back. The price follows a model that does."""


def version_setup(pool: Pool, version: int) -> Values:
    """Return the setup that makes a pool what it was at a version.

    The pool keeps its name, and stays the default if it is. Models keep their names and
    tags; one that is another model again gets its price of then, too.

    Raises: NotFound if there is no record of the version; PoolUnusable if something of
    it is gone.
    """
    past = past_pool(pool, version, with_conductor=True)
    workers = {str(each.model.row.id): each for each in past.workers}
    conductors = {} if past.conductor is None else {_id(past.conductor): past.conductor}
    setup = {
        **_composition(past),
        "workers": {key: _restored(each.model) for key, each in workers.items()},
        "conductors": {key: _restored(each) for key, each in conductors.items()},
    }
    return {
        **setup,
        **{name: {k: v for k, v in setup[name].items() if v} for name in MODELS},
    }


def setup_now(pool: Pool, like: Mapping[str, Any]) -> Values:
    """Return what a pool and its models have now, of the values that `like` names.

    Raises: PoolUnusable if a model that it names is gone.
    """
    values: Values = {
        **pool_values(pool),
        "workers": _models(Worker, pool.team_id, like.get("workers", {})),
        "conductors": _models(Conductor, pool.team_id, like.get("conductors", {})),
    }
    return _named(values, like)


def _id(past: PastModel[Any]) -> str:
    return str(past.row.id)


def _composition(past: PastPool) -> Values:
    ids = {each.model.row.name: str(each.model.row.id) for each in past.workers}
    tiers = {str(tier.name): tier_values(tier) for tier in past.tiers}
    return {
        "conductor_id": None if past.conductor is None else _id(past.conductor),
        "worker_ids": [*ids.values()],
        "fallback_id": ids[past.fallback],
        "retries_refusals": past.retries_refusals,
        "no_substitute_ids": [
            str(each.model.row.id) for each in past.workers if not each.may_substitute
        ],
        # Null: such a tier goes.
        "tiers": {name.value: tiers.get(name.value) for name in TierName},
    }


def _restored(past: PastModel[Any]) -> Values:
    """Return the values of a model that differ from those of today."""
    then, now = _values(past.row), _values(past.now)
    changed = {
        name: value
        for name, value in then.items()
        if name not in OF_TODAY and value != now[name]
    }
    if not past.is_present:
        changed["price"] = _price(price_in_force(past.prices))
    return changed


def _values(row: Worker | Conductor) -> Values:
    return worker_values(row) if isinstance(row, Worker) else conductor_values(row)


def _price(price: Price | None) -> Values | None:
    """Return a price without its day: it is to be in force from the change on."""
    values = price_values(price)
    if values is not None:
        del values["valid_from"]
    return values


def _models(
    kind: type[Worker | Conductor], team_id: uuid.UUID, wanted: Mapping[str, Any]
) -> dict[str, Values]:
    rows = kind.objects.for_team(team_id).filter(id__in=[*wanted])
    found = {
        str(row.id): {**_values(row), "price": _price(price_in_force(row.prices.all()))}
        for row in rows.prefetch_related("prices")
    }
    if missing := set(wanted) - set(found):
        raise PoolUnusable(
            f"{len(missing)} {kind.__name__.lower()}(s) of the pool have been deleted"
        )
    return found


def _named(values: Mapping[str, Any], names: Mapping[str, Any]) -> Values:
    """Return those of the values that `names` has; those there are none of as None."""
    found: Values = {}
    for name, inner in names.items():
        value = values.get(name)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = _named(value, inner)
        found[name] = value
    return found
