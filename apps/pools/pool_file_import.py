"""Turns a pool file into rows: creates what is missing, changes what differs.

Runs inside the transaction of `services.pool_import`, which writes the ledger entries.
Rows the file does not speak of are left alone, earlier prices included.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet
from apps.pools.attributes import model_columns
from apps.pools.base_urls import authority, scheme_of
from apps.pools.credentials import credential_holds, credential_seal
from apps.pools.errors import PoolDocumentInvalid
from apps.pools.models import (
    Conductor,
    Credential,
    Pool,
    PoolWorker,
    Price,
    Tier,
    Worker,
)
from apps.pools.pool_file import (
    ConductorDocument,
    EndpointDocument,
    PoolDocument,
    PriceDocument,
    WorkerDocument,
)
from apps.pools.service_inputs import secret_complaint
from apps.pools.validation import address_fault

RowT = TypeVar("RowT", bound=models.Model)


def addresses_check(document: PoolDocument) -> None:
    """Refuse a file whose models are where the operator allows none.

    Raises: PoolDocumentInvalid naming every such base URL.
    """
    found = [
        (f"{path}.base_url", address_fault(endpoint.base_url))
        for path, endpoint in _endpoints(document).items()
    ]
    faults = [f"{path}: {why}" for path, why in found if why]
    if faults:
        raise PoolDocumentInvalid(faults)


def secrets_read(document: PoolDocument, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets the file names, by variable.

    Raises: PoolDocumentInvalid naming every variable that is missing or unusable.
    """
    found: dict[str, str] = {}
    faults = []
    for path, endpoint in _endpoints(document).items():
        name = endpoint.api_key_env
        if name is None:
            continue
        found[name] = environ.get(name, "").strip()
        complaint = secret_complaint(found[name]) if found[name] else "is not set"
        if complaint:
            faults.append(
                f"{path}.api_key_env: environment variable {name!r} {complaint}"
            )
    if faults:
        raise PoolDocumentInvalid(faults)
    return found


def _endpoints(document: PoolDocument) -> dict[str, EndpointDocument]:
    """Return the models of a file by their paths."""
    endpoints: dict[str, EndpointDocument] = {
        f"workers[{index}]": worker for index, worker in enumerate(document.workers)
    }
    if document.conductor is not None:
        endpoints["conductor"] = document.conductor
    for index, conductor in enumerate(document.other_conductors):
        endpoints[f"other_conductors[{index}]"] = conductor
    return endpoints


class PoolImport:
    """One import. Afterwards the attributes say what it did."""

    def __init__(self, team: Team, secrets: Mapping[str, str]) -> None:
        self._team = team
        self._secrets = secrets
        self.created: list[str] = []
        self.changed: list[str] = []
        self.unchanged = 0
        self.credentials: dict[uuid.UUID, Credential] = {}
        """Credentials that hold a new secret."""

    @property
    def has_changes(self) -> bool:
        """Say whether anything is not as it was."""
        return bool(self.created or self.changed)

    def run(self, document: PoolDocument) -> Pool:
        """Import the whole file and return its pool. Does not bump versions."""
        workers = [self._worker(worker) for worker in document.workers]
        conductor = document.conductor
        planner = None if conductor is None else self._conductor(conductor)
        for other in document.other_conductors:
            self._conductor(other)
        fallback = next(row for row in workers if row.name == document.pool.fallback)
        pool = self._pool(document, planner, fallback)
        self._places(pool, workers, [each.may_substitute for each in document.workers])
        self._tiers(pool, document)
        return pool

    # --- models ----------------------------------------------------------------------

    def _worker(self, document: WorkerDocument) -> Worker:
        row = self._upsert(
            Worker.objects.for_team(self._team.id),
            {"name": document.name},
            self._columns(document),
            f"worker {document.name}",
        )
        if document.price is not None:
            self._price(document.price, {"worker": row}, document.name)
        return row

    def _conductor(self, document: ConductorDocument) -> Conductor:
        row = self._upsert(
            Conductor.objects.for_team(self._team.id),
            {"name": document.name},
            self._columns(document),
            f"conductor {document.name}",
        )
        if document.price is not None:
            self._price(document.price, {"conductor": row}, document.name)
        return row

    def _columns(self, document: EndpointDocument) -> dict[str, Any]:
        return {**model_columns(document), "credential": self._credential(document)}

    def _credential(self, document: EndpointDocument) -> Credential | None:
        name = document.api_key_env
        if name is None:
            return None
        row, change = credential_put(
            team=self._team,
            name=name,
            base_url=document.base_url,
            secret=self._secrets[name],
        )
        if change == "none":
            self.unchanged += row.id not in self.credentials
        else:
            self.credentials[row.id] = row
            lines = self.created if change == "created" else self.changed
            lines.append(f"credential {row}")
        return row

    def _price(
        self, price: PriceDocument, owner: dict[str, Worker | Conductor], name: str
    ) -> None:
        self._upsert(
            Price.objects.for_team(self._team.id),
            {**owner, "valid_from": price.valid_from},
            price.micros(),
            f"price of {name} from {price.valid_from}",
        )

    # --- the pool --------------------------------------------------------------------

    def _pool(
        self, document: PoolDocument, conductor: Conductor | None, fallback: Worker
    ) -> Pool:
        name = document.pool.name
        values: dict[str, Any] = {
            "conductor": conductor,
            "fallback": fallback,
            "retries_refusals": document.pool.retries_refusals,
        }
        values |= self._default(name, document.pool.default)
        pools = Pool.objects.for_team(self._team.id)
        return self._upsert(pools, {"name": name}, values, f"pool {name}")

    def _default(self, name: str, wish: bool | None) -> dict[str, bool]:
        pools = Pool.objects.for_team(self._team.id)
        others = pools.filter(is_default=True).exclude(name=name)
        if wish is None:
            is_new = not pools.filter(name=name).exists()
            return {"is_default": not others.exists()} if is_new else {}
        if wish:
            # First the others, or the constraint on one default refuses.
            for other in others:
                other.is_default = False
                other.save(update_fields=["is_default"])
                self.changed.append(f"pool {other.name} is no longer the default")
        return {"is_default": wish}

    def _places(
        self, pool: Pool, workers: list[Worker], may_substitute: list[bool]
    ) -> None:
        present = PoolWorker.objects.for_team(self._team.id).filter(pool=pool).exists()
        wanted = {
            worker.id: may for worker, may in zip(workers, may_substitute, strict=True)
        }
        if not places_put(pool, wanted):
            self.unchanged += 1
            return
        (self.changed if present else self.created).append(
            f"workers of pool {pool.name}"
        )

    def _tiers(self, pool: Pool, document: PoolDocument) -> None:
        tiers = Tier.objects.for_team(self._team.id).filter(pool=pool)
        limits = document.tier_limits()
        for name, values in limits.items():
            self._upsert(tiers, {"pool": pool, "name": name}, values, f"tier {name}")
        for gone in tiers.exclude(name__in=list(limits)):
            gone.delete()
            self.changed.append(f"tier {gone.name} removed")

    # --- rows ------------------------------------------------------------------------

    def _upsert(
        self,
        rows: TeamQuerySet[RowT],
        lookup: Mapping[str, Any],
        values: Mapping[str, Any],
        label: str,
    ) -> RowT:
        row = rows.filter(**lookup).first()
        if row is None:
            self.created.append(label)
            return rows.create(team=self._team, **{**lookup, **values})
        stale = [name for name, value in values.items() if getattr(row, name) != value]
        if not stale:
            self.unchanged += 1
            return row
        for name in stale:
            setattr(row, name, values[name])
        row.save(update_fields=stale)
        self.changed.append(f"{label}: {', '.join(sorted(stale))}")
        return row


def credential_put(
    *, team: Team, name: str, base_url: str, secret: str
) -> tuple[Credential, Literal["created", "changed", "none"]]:
    """Store a secret; return its row and what happened to it."""
    bound = {"scheme": scheme_of(base_url), "host": authority(base_url)}
    row = Credential.objects.for_team(team.id).filter(name=name, **bound).first()
    if row is not None and credential_holds(row, secret):
        return row, "none"
    change: Literal["created", "changed"] = "created" if row is None else "changed"
    row = row or Credential(team=team, name=name, **bound)
    credential_seal(row, secret)
    row.save()
    return row, change


def places_put(pool: Pool, wanted: Mapping[uuid.UUID, bool]) -> bool:
    """Give a pool its workers, in order; return False if it had them so already.

    `wanted` says by the worker's id whether it may take over for others.
    """
    places = PoolWorker.objects.for_team(pool.team_id).filter(pool=pool)
    present = places.order_by("position").values_list("worker_id", "may_substitute")
    if list(present) == list(wanted.items()):
        return False
    # All anew: moving rows one by one would break the unique positions.
    places.delete()
    PoolWorker.objects.bulk_create(
        PoolWorker(
            team_id=pool.team_id,
            pool=pool,
            worker_id=worker_id,
            position=position,
            may_substitute=may_substitute,
        )
        for position, (worker_id, may_substitute) in enumerate(wanted.items())
    )
    return True
