"""Changes that workers and conductors have in common."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any, TypeVar

from django.utils import timezone

from apps.accounts.models import Team
from apps.core.input_parts import values_read
from apps.pools.attributes import model_columns
from apps.pools.models import Conductor, Price, Worker
from apps.pools.serializers import price_in_force
from apps.pools.service_inputs import EndpointInput, PriceInput
from apps.pools.validation import (
    Faults,
    address_fault,
    credential_of,
    merged,
    name_fault,
)

ModelT = TypeVar("ModelT", Worker, Conductor)


def endpoint_create(
    model: type[ModelT],
    shape: type[EndpointInput],
    team: Team,
    values: Mapping[str, Any],
) -> ModelT:
    """Create a worker or conductor with its price. Raises: InvalidFields."""
    given = values_read(shape, values)
    row = model(team=team)
    _put(row, given, own_id=None)
    row.save()
    if given.price is not None:
        _price_put(row, given.price)
    return row


def endpoint_update(
    row: ModelT,
    shape: type[EndpointInput],
    present: Mapping[str, Any],
    values: Mapping[str, Any],
) -> None:
    """Change the given values of a worker or conductor. Raises: InvalidFields."""
    kept = {key: value for key, value in present.items() if key != "price"}
    given = values_read(shape, merged(kept, values))
    _put(row, given, own_id=row.pk)
    row.save()
    if given.price is not None:
        _price_put(row, given.price)
    elif "price" in values:
        row.prices.all().delete()


def _put(
    row: Worker | Conductor, given: EndpointInput, own_id: uuid.UUID | None
) -> None:
    faults = Faults()
    rows = type(row).objects.for_team(row.team_id)
    faults.add("name", name_fault(rows, given.name, own_id))
    faults.add("base_url", address_fault(given.base_url))
    credential = credential_of(row.team_id, given.credential_id, given.base_url, faults)
    faults.raise_any()
    for name, value in {**model_columns(given), "credential": credential}.items():
        setattr(row, name, value)


def _price_put(row: Worker | Conductor, price: PriceInput) -> None:
    """Add a price or correct the one of its day; the one in force is not repeated."""
    micros = price.micros()
    prices = row.prices.all()
    if price.valid_from is None:
        present = price_in_force(prices)
        if present and all(getattr(present, key) == micros[key] for key in micros):
            return
    day = price.valid_from or timezone.now().astimezone(dt.UTC).date()
    owner = {"worker" if isinstance(row, Worker) else "conductor": row}
    Price.objects.for_team(row.team_id).update_or_create(
        **owner,
        valid_from=day,
        defaults=micros,
        create_defaults={**micros, "team_id": row.team_id},
    )
