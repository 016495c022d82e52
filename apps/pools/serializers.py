"""Rows as values: what pages, programs and the ledger see of them. Pure reads.

The same names and forms as the services take: ids as text, money as decimal text in
dollars per million tokens, times in seconds. Never a secret, and no floats.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import orjson
from django.utils import timezone

from apps.pools.attributes import (
    ConductorAttributes,
    TimeoutsDocument,
    WorkerAttributes,
    timeout_column,
)
from apps.pools.models import Conductor, Credential, Pool, Price, Tier, Worker
from apps.pools.types import ListPrice
from apps.pools.value_types import MICROS

Values = dict[str, Any]


def credential_values(credential: Credential) -> Values:
    """Return what may be shown of a credential."""
    return {
        "name": credential.name,
        "scheme": credential.scheme,
        "host": credential.host,
    }


def worker_values(worker: Worker) -> Values:
    """Return a worker as values, with the price in force."""
    return {
        **_endpoint_values(worker),
        **_attribute_values(worker, WorkerAttributes),
        "price": price_values(price_in_force(worker.prices.all())),
    }


def conductor_values(conductor: Conductor) -> Values:
    """Return a conductor as values, with the price in force."""
    return {
        **_endpoint_values(conductor),
        **_attribute_values(conductor, ConductorAttributes),
        "price": price_values(price_in_force(conductor.prices.all())),
    }


def recorded_values(model: Worker | Conductor) -> Values:
    """Return a model as entries and versions hold it: with all its prices by day.

    Which of them is in force changes with the day, and that is no change.
    """
    if isinstance(model, Worker):
        values = worker_values(model)
    else:
        values = conductor_values(model)
    del values["price"]
    prices = sorted(model.prices.all(), key=lambda price: price.valid_from)
    days = {row["valid_from"]: row for row in map(price_values, prices) if row}
    return {**values, "prices": days}


def pool_values(pool: Pool) -> Values:
    """Return a pool as values."""
    places = sorted(pool.places.all(), key=lambda place: place.position)
    return {
        "name": pool.name,
        "is_default": pool.is_default,
        "conductor_id": _text(pool.conductor_id),
        "worker_ids": [str(place.worker_id) for place in places],
        "fallback_id": str(pool.fallback_id),
        "retries_refusals": pool.retries_refusals,
        "no_substitute_ids": [
            str(place.worker_id) for place in places if not place.may_substitute
        ],
        "tiers": {str(tier.name): tier_values(tier) for tier in pool.tiers.all()},
    }


def tier_values(tier: Tier) -> Values:
    """Return the limits of a tier as values."""
    return {
        "planner": str(tier.planner),
        "answer_worth_usd": usd(tier.answer_worth_micros),
        "max_steps": tier.max_steps,
        "max_rounds": tier.max_rounds,
        "max_parallel": tier.max_parallel,
        "max_calls": tier.max_calls,
        "max_tokens": tier.max_tokens,
        "max_cost_usd": usd(tier.max_cost_micros),
        "wall_time_s": tier.wall_time_s,
        "delivery": str(tier.delivery),
        "is_hedged": tier.is_hedged,
        "allows_delegation": tier.allows_delegation,
    }


def price_values(price: Price | None) -> Values | None:
    """Return a price as values; None: unknown."""
    if price is None:
        return None
    return {
        "valid_from": price.valid_from.isoformat(),
        "input_usd": usd(price.input_micros),
        "output_usd": usd(price.output_micros),
        "cached_input_usd": usd(price.cached_input_micros),
    }


def list_price_values(listed: ListPrice | None) -> Values | None:
    """Return a list price as values; None: unknown."""
    if listed is None:
        return None
    return {
        "provider": listed.provider,
        "model": listed.model,
        "as_of": listed.as_of.isoformat(),
        "input_usd": usd(listed.price.input_micros),
        "output_usd": usd(listed.price.output_micros),
        "cached_input_usd": usd(listed.price.cached_input_micros),
        "remarks": list(listed.remarks),
    }


def price_in_force(prices: Iterable[Price]) -> Price | None:
    """Return the latest price that is not in the future."""
    today = timezone.now().astimezone(dt.UTC).date()
    current = [price for price in prices if price.valid_from <= today]
    return max(current, key=lambda price: price.valid_from, default=None)


def usd(micros: int | None) -> str | None:
    """Return micro-dollars as decimal text in dollars, without needless zeros."""
    return None if micros is None else _plain(Decimal(micros) / MICROS)


def _endpoint_values(model: Worker | Conductor) -> Values:
    return {
        "name": model.name,
        "base_url": model.base_url,
        "protocol": str(model.protocol),
        "model": model.model,
        "credential_id": _text(model.credential_id),
        "max_tokens_field": str(model.max_tokens_field),
        "timeouts": {
            name: getattr(model, timeout_column(name))
            for name in TimeoutsDocument.model_fields
        },
    }


def _attribute_values(
    model: Worker | Conductor, shape: type[WorkerAttributes | ConductorAttributes]
) -> Values:
    return {name: _value(getattr(model, name)) for name in shape.model_fields}


def _value(value: Any) -> Any:
    """Return a column's value in a form that the ledger takes."""
    if isinstance(value, str):
        return str(value)  # a member of choices is more than its text
    if isinstance(value, Decimal):
        return _plain(value)
    if isinstance(value, dict):
        return _json_text(value)
    return list(value) if isinstance(value, list) else value


def _json_text(fields: dict[str, Any]) -> str:
    """Return fields as JSON, always in the same order. Empty: there are none.

    Text, because numbers with a point have no place in the ledger.
    """
    if not fields:
        return ""
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()


def _plain(number: Decimal | None) -> str | None:
    return None if number is None else f"{number.normalize():f}"


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)
