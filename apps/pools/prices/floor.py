"""Refuses price changes by an API key that a budget binds.

A budget counts calls by the team's prices, so a lower price is a looser budget. While a
budget binds a key (its own, its maker's or the team's), the key can raise a price or
make it unknown, because budgets refuse models of unknown price. It cannot lower a
price, set one where there is none, or keep one for another model. A person may do all
of this, by role.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from apps.accounts.types import KeyHolder
from apps.budgets.selectors import budgets_binding
from apps.core.errors import NotAllowed
from apps.pools.models import Conductor, Price, Worker

Amounts = tuple[int, int, int]
"""Of input, output and cached input, in micro-dollars per million tokens."""


@dataclass(frozen=True, slots=True)
class _Priced:
    """A model and what it costs, today and later."""

    label: str
    target: tuple[Any, ...]
    """What decides where a call goes, and what the provider charges for it."""
    prices: Mapping[dt.date, Amounts]
    """By the day from which each is in force."""

    def on(self, day: dt.date) -> Amounts | None:
        """Return the price in force on a day; None: unknown."""
        days = [since for since in self.prices if since <= day]
        return self.prices[max(days)] if days else None


Models = dict[uuid.UUID, _Priced]


class PriceFloor:
    """The prices of a team before a change; afterwards none may be lower."""

    def __init__(self, team_id: uuid.UUID) -> None:
        self._team_id = team_id
        self._before = _read(team_id)

    def check(self) -> None:
        """Compare with the prices after the change. Raises: NotAllowed."""
        today = timezone.now().astimezone(dt.UTC).date()
        for model_id, after in _read(self._team_id).items():
            before = self._before.get(model_id)
            fault = "" if after == before else _fault(before, after, today)
            if fault:
                raise NotAllowed(
                    f"a budget binds this API key, so the key cannot {fault}; sign in "
                    f"and do it yourself"
                )


def price_floor(team_id: uuid.UUID, within: KeyHolder | None) -> PriceFloor | None:
    """Return the prices that a key must not go below.

    `within` is the key that makes the change. None: a person makes it, or no budget
    binds the key.
    """
    if within is None:
        return None
    binding = budgets_binding(team_id, within.created_by_id, within.key_id)
    return PriceFloor(team_id) if binding else None


def _fault(before: _Priced | None, after: _Priced, today: dt.date) -> str:
    """Return what the key cannot do; empty: nothing has become cheaper."""
    if not after.prices:
        return ""
    if before is None or not before.prices:
        return f"set the price of {after.label}"
    if before.target != after.target:
        return (
            f"keep the price of {after.label} for another model, address or request "
            f"body (make the price null)"
        )
    ahead = {day for day in (*before.prices, *after.prices) if day > today}
    for day in (today, *ahead):
        present, wanted = before.on(day), after.on(day)
        if wanted is None:
            continue
        if present is None:
            return f"set the price of {after.label}"
        if any(new < old for new, old in zip(wanted, present, strict=True)):
            return f"lower the price of {after.label}"
    return ""


def _read(team_id: uuid.UUID) -> Models:
    """Return the models of a team by their ids."""
    workers = Worker.objects.for_team(team_id).prefetch_related("prices")
    conductors = Conductor.objects.for_team(team_id).prefetch_related("prices")
    models: Models = {}
    for row in workers:
        target = (*_target(row), row.extra_body)
        label = f"worker {row.name!r}"
        models[row.id] = _Priced(label, target, _prices(row.prices.all()))
    for each in conductors:
        label = f"conductor {each.name!r}"
        models[each.id] = _Priced(label, _target(each), _prices(each.prices.all()))
    return models


def _target(row: Worker | Conductor) -> tuple[Any, ...]:
    return (row.base_url, row.protocol, row.model)


def _prices(rows: Iterable[Price]) -> dict[dt.date, Amounts]:
    return {row.valid_from: _amounts(row) for row in rows}


def _amounts(row: Price) -> Amounts:
    cached = row.cached_input_micros
    if cached is None:  # as much as other input
        cached = row.input_micros
    return row.input_micros, row.output_micros, cached
