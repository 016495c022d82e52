"""The rows of an earlier version of a pool, made again from its document, never saved.

A version's document has no secret, and what people say of a model today counts more
than what they said then. So of a model that still is what it was (`_target`), the
credential, the prices and the tags are those of today.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from apps.core.errors import InvalidFields, NotFound
from apps.core.input_parts import values_read
from apps.pools.attributes import TierDocument, model_columns
from apps.pools.base_urls import origin
from apps.pools.errors import PoolUnusable
from apps.pools.models import (
    Conductor,
    Credential,
    PlannerVersion,
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


TARGET = ("base_url", "protocol", "model", "extra_body")
"""What decides where a call goes, and what the provider charges for it."""
VERSIONS_AT_ONCE = 20
RowT = TypeVar("RowT", Worker, Conductor)


@dataclass(frozen=True, slots=True)
class PastModel(Generic[RowT]):
    """A worker or conductor as it was."""

    row: RowT
    prices: Sequence[Price]
    now: RowT
    """The row of today, with its prices."""
    is_present: bool
    """A call of it still goes to the same place, and costs the same there."""


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
    """In the order of the pool; those that were disabled, too."""
    fallback: str
    conductor: PastModel[Conductor] | None
    tiers: Sequence[Tier]
    retries_refusals: bool
    planner_version: PlannerVersion | None
    """The version of its light planner that it used, if any."""


def past_pool(pool: Pool, version: int, *, with_conductor: bool) -> PastPool:
    """Return a pool as it was at a version.

    Raises: NotFound if there is no record of it; PoolUnusable if a worker, conductor or
    credential of it is gone, or a worker is disabled now.
    """
    rows = PoolVersion.objects.for_team(pool.team_id).filter(pool=pool)
    found = rows.filter(version=version).first()
    if found is None:
        raise NotFound(f"pool {pool.name!r} has no version {version}")
    where = f"version {version} of pool {pool.name!r}"
    try:
        return _past_pool(found, where, with_conductor)
    except InvalidFields as exc:  # it is older than a bound of today
        raise PoolUnusable(f"{where} cannot be used any more: {exc.message}") from exc


def _past_pool(version: PoolVersion, where: str, with_conductor: bool) -> PastPool:
    document: Document = version.document
    conductor = document["conductor"] if with_conductor else None
    return PastPool(
        workers=[_worker(version, given, where) for given in document["workers"]],
        fallback=document["fallback"],
        conductor=None
        if conductor is None
        else _model(Conductor, ConductorInput, version, conductor, where),
        tiers=[
            _tier(TierName(name), given, document["conductor"] is not None)
            for name, given in document["tiers"].items()
        ],
        retries_refusals=document["retries_refusals"],
        planner_version=_planner_version(version, where),
    )


def _planner_version(version: PoolVersion, where: str) -> PlannerVersion | None:
    given = version.document.get("light_planner")
    if given is None:
        return None
    rows = PlannerVersion.objects.for_team(version.team_id)
    found = rows.filter(pool_id=version.pool_id, digest=given["digest"]).first()
    if found is None:
        number = given["version"]
        raise PoolUnusable(
            f"{where} needs version {number} of the light planner, which is gone"
        )
    return found


def _worker(version: PoolVersion, given: Document, where: str) -> PastWorker:
    return PastWorker(
        _model(Worker, WorkerInput, version, given, where),
        given.get("may_substitute", True),
        given.get("measured", ""),
    )


def _model(
    kind: type[RowT],
    shape: type[EndpointInput],
    version: PoolVersion,
    given: Document,
    where: str,
) -> PastModel[RowT]:
    team_id = version.team_id
    rows = kind.objects.for_team(team_id).select_related("credential")
    now = rows.filter(id=given["id"]).prefetch_related("prices").first()
    what = f"{kind.__name__.lower()} {given['name']!r}"
    if now is None:
        raise PoolUnusable(f"{where} needs {what}, which has been deleted")
    values = {name: given[name] for name in shape.model_fields if name in given}
    columns = {
        name: str(value) if isinstance(value, Enum) else value  # as a column gives it
        for name, value in model_columns(values_read(shape, values)).items()
    }
    row = kind(id=now.id, team_id=team_id, **columns)
    if _is_enabled(row) and not _is_enabled(now):
        raise PoolUnusable(f"{where} needs {what}, which is disabled now")
    if _target(now) != _target(row):
        row.credential = _credential(team_id, given, what, where)
        prices = _prices(_last_record(version, given))
        return PastModel(row, prices, now, is_present=False)
    row.credential = now.credential
    if isinstance(now, Worker) and isinstance(row, Worker):
        row.tags = now.tags
    return PastModel(row, list(now.prices.all()), now, is_present=True)


def _is_enabled(row: Worker | Conductor) -> bool:
    return not isinstance(row, Worker) or row.is_enabled


def _target(row: Worker | Conductor) -> tuple[Any, ...]:
    return tuple(getattr(row, name, None) for name in TARGET)


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


def _last_record(version: PoolVersion, given: Document) -> Document:
    """Return what the last version says of a model before it became another one.

    Its prices may have been corrected since the version that is used.
    """
    later = PoolVersion.objects.for_team(version.team_id).filter(
        pool=version.pool_id, version__gt=version.version
    )
    last = given
    for row in later.order_by("version").iterator(chunk_size=VERSIONS_AT_ONCE):
        models = [*row.document["workers"], row.document["conductor"]]
        same = (each for each in models if each and each["id"] == given["id"])
        found = next(same, None)
        if found is None or any(found.get(n) != given.get(n) for n in TARGET):
            break
        last = found
    return last


def _prices(given: Document) -> list[Price]:
    found = []
    for values in given["prices"].values():
        price = values_read(PriceInput, values)
        assert price.valid_from is not None  # each is recorded with its day
        found.append(Price(valid_from=price.valid_from, **price.micros()))
    return found


def _tier(name: TierName, given: Document, has_conductor: bool) -> Tier:
    limits = values_read(TierDocument, given).limits(name, has_conductor=has_conductor)
    return Tier(name=str(name), **limits)
