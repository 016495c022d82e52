"""The rows of an earlier version of a pool, made again from its document, never saved.

A version's document has no secret, and what people say of a model today counts more
than what they said then. So of a model that is still served at the address and under
the name of the version, the credential, the prices and the tags are those of today.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from apps.core.errors import InvalidFields, NotFound
from apps.core.input_parts import values_read
from apps.pools.attributes import TierDocument, model_columns
from apps.pools.base_urls import origin
from apps.pools.errors import PoolUnusable
from apps.pools.models import (
    Conductor,
    Credential,
    Pool,
    PoolVersion,
    Price,
    Tier,
    TierName,
    Worker,
)
from apps.pools.service_inputs import (
    ConductorInput,
    EndpointInput,
    PriceInput,
    WorkerInput,
)

Document = Mapping[str, Any]


RowT = TypeVar("RowT", Worker, Conductor)


@dataclass(frozen=True, slots=True)
class PastModel(Generic[RowT]):
    """A worker or conductor as it was."""

    row: RowT
    prices: Sequence[Price]
    is_present: bool
    """It is still served at the same address, under the same name."""


@dataclass(frozen=True, slots=True)
class PastWorker:
    """A worker of a version, with its place."""

    model: PastModel[Worker]
    may_substitute: bool
    measured: str
    """What was measured of it then, for a conductor. Empty: nothing."""


@dataclass(frozen=True, slots=True)
class PastPool:
    """A version of a pool. Its rows are not to be saved."""

    workers: Sequence[PastWorker]
    """Those that were enabled, in the order of the pool."""
    fallback: str
    conductor: PastModel[Conductor] | None
    tiers: Sequence[Tier]
    retries_refusals: bool


def past_pool(pool: Pool, version: int, *, with_conductor: bool) -> PastPool:
    """Return a pool as it was at a version.

    Raises: NotFound if there is no record of it; PoolUnusable if a worker, conductor or
    credential of it is gone, or a worker is disabled now.
    """
    rows = PoolVersion.objects.for_team(pool.team_id).filter(pool=pool)
    found = rows.filter(version=version).first()
    if found is None:
        raise NotFound(f"pool {pool.name!r} has no version {version}")
    where, document = f"version {version} of pool {pool.name!r}", found.document
    try:
        return _past_pool(pool.team_id, document, where, with_conductor=with_conductor)
    except InvalidFields as exc:  # it is older than a bound of today
        raise PoolUnusable(f"{where} cannot be used any more: {exc.message}") from exc


def _past_pool(
    team_id: uuid.UUID, document: Document, where: str, *, with_conductor: bool
) -> PastPool:
    conductor = document["conductor"] if with_conductor else None
    return PastPool(
        workers=[
            _worker(team_id, given, where)
            for given in document["workers"]
            if given.get("is_enabled", True)
        ],
        fallback=document["fallback"],
        conductor=None
        if conductor is None
        else _model(Conductor, ConductorInput, team_id, conductor, where),
        tiers=[
            _tier(TierName(name), given, document["conductor"] is not None)
            for name, given in document["tiers"].items()
        ],
        retries_refusals=document["retries_refusals"],
    )


def _worker(team_id: uuid.UUID, given: Document, where: str) -> PastWorker:
    return PastWorker(
        _model(Worker, WorkerInput, team_id, given, where),
        given.get("may_substitute", True),
        given.get("measured", ""),
    )


def _model(
    kind: type[RowT],
    shape: type[EndpointInput],
    team_id: uuid.UUID,
    given: Document,
    where: str,
) -> PastModel[RowT]:
    rows = kind.objects.for_team(team_id).select_related("credential")
    now = rows.filter(id=given["id"]).prefetch_related("prices").first()
    what = f"{kind._meta.model_name} {given['name']!r}"
    if now is None:
        raise PoolUnusable(f"{where} needs {what}, which has been deleted")
    if isinstance(now, Worker) and not now.is_enabled:
        raise PoolUnusable(f"{where} needs {what}, which is disabled now")
    values = {name: given[name] for name in shape.model_fields if name in given}
    columns = model_columns(values_read(shape, values))
    row = kind(id=now.id, team_id=team_id, **columns)
    if (now.base_url, now.model) != (row.base_url, row.model):
        row.credential = _credential(team_id, given, what, where)
        return PastModel(row, _prices(given), is_present=False)
    row.credential = now.credential
    if isinstance(row, Worker) and isinstance(now, Worker):
        row.tags = now.tags
    return PastModel(row, list(now.prices.all()), is_present=True)


def _credential(
    team_id: uuid.UUID, given: Document, what: str, where: str
) -> Credential | None:
    if given["credential"] is None:
        return None
    name, address = given["credential"]["name"], origin(given["base_url"])
    for row in Credential.objects.for_team(team_id).filter(name=name):
        if row.origin == address:
            return row
    raise PoolUnusable(
        f"{where} needs the credential {name!r} of {what} for {address}, which is gone"
    )


def _prices(given: Document) -> list[Price]:
    found = []
    for values in given["prices"].values():
        price = values_read(PriceInput, values)
        found.append(Price(valid_from=price.valid_from, **price.micros()))
    return found


def _tier(name: TierName, given: Document, has_conductor: bool) -> Tier:
    limits = values_read(TierDocument, given).limits(name, has_conductor=has_conductor)
    return Tier(name=str(name), **limits)
