"""Compares a team's prices with list prices, and adopts those.

Guarantees: prices change only by a person's click, and then to the very amounts that
were shown; what is not in the list is not offered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from apps.console.forms.models import ModelForm
from apps.console.pool_rows import dollars, price_words
from apps.core.errors import Conflict
from apps.pools.models import Conductor, Price, Worker
from apps.pools.selectors import list_price, list_price_values, price_in_force
from apps.pools.types import ListPrice, PriceSnapshot

USE = "use_list_price"
"""The button; its value says which price it was beside."""
PARTS = {
    "input": "input_usd",
    "output": "output_usd",
    "cached": "cached_input_usd",
}
"""Parts of a price by the names the page's script knows."""


@dataclass(frozen=True, slots=True)
class PriceOffer:
    """A model's list price, and how the team's own compares."""

    listed: ListPrice
    own: PriceSnapshot | None
    """What the team has set. None: nothing."""
    is_saved: bool
    """False: the form is being filled in, so there is nothing to compare with."""

    @property
    def words(self) -> str:
        """Return the list price in words."""
        cached = self._values["cached_input_usd"]
        words = price_words(self._values)
        if cached is None:
            return words
        return _("%(price)s · %(cached)s cached input") % {
            "price": words,
            "cached": dollars(cached),
        }

    @property
    def mark(self) -> str:
        """Return as much of it as sets it apart from the team's own, in words."""
        own, listed = self.own, self.listed.price
        has_same_front = own is not None and (own.input_micros, own.output_micros) == (
            listed.input_micros,
            listed.output_micros,
        )
        return self.words if has_same_front else price_words(self._values)

    @property
    def fields(self) -> dict[str, str]:
        """Return the list price as its fields take it."""
        return {part: self._values[name] or "" for part, name in PARTS.items()}

    @property
    def values(self) -> dict[str, Any]:
        """Return what a service takes to set this price from today on."""
        return {"price": {name: self._values[name] for name in PARTS.values()}}

    @property
    def stamp(self) -> str:
        """Return the amounts as a button carries them."""
        return "/".join(self.fields.values())

    @property
    def is_missing(self) -> bool:
        """Say whether the team has set no price."""
        return self.is_saved and self.own is None

    @property
    def is_same(self) -> bool:
        """Say whether the team's price is the list price."""
        return self.own is not None and _known(self.own) == _known(self.listed.price)

    @property
    def is_different(self) -> bool:
        """Say whether it is another one, and not just because of the hour."""
        has_own = self.own is not None and not self.is_same
        return has_own and not self.listed.changes_by_hour

    @property
    def _values(self) -> Mapping[str, Any]:
        return list_price_values(self.listed) or {}


def model_offer(model: Worker | Conductor) -> PriceOffer | None:
    """Return the list price of a saved model; None: unknown."""
    listed = list_price(model.base_url, model.model)
    if listed is None:
        return None
    return PriceOffer(listed, _own(price_in_force(model.prices.all())), is_saved=True)


def form_offer(
    form: ModelForm, saved: Worker | Conductor | None = None
) -> PriceOffer | None:
    """Return the list price of the model that a form describes; None: unknown."""
    base_url, model = _typed(form, "base_url"), _typed(form, "model")
    if saved is not None and (base_url, model) == (saved.base_url, saved.model):
        return model_offer(saved)
    listed = list_price(base_url, model)
    return None if listed is None else PriceOffer(listed, None, is_saved=False)


def adopted_values(model: Worker | Conductor, data: Mapping[str, Any]) -> Any:
    """Return the values that give a model the list price a person accepted.

    Raises: Conflict if it is not the list price any more.
    """
    offer = model_offer(model)
    if offer is None or offer.stamp != data.get(USE):
        raise Conflict("the list price is another one now: look at it again")
    return offer.values


def agreed_values(
    form: ModelForm, saved: Worker | Conductor | None, data: Mapping[str, Any]
) -> Any:
    """Return the same, if a form was sent for that alone; None: it holds more.

    Then nothing may be saved yet: what else was typed is not finished.
    """
    offer = None if saved is None or form.changed_data else model_offer(saved)
    return offer.values if offer and offer.stamp == data.get(USE) else None


def put_offer(form: ModelForm) -> bool:
    """Fill the list price into a form, unsaved; say whether there is one."""
    offer = form_offer(form)
    if offer is None:
        return False
    for part, name in PARTS.items():
        form.initial[f"price.{name}"] = offer.fields[part]
    return True


def _typed(form: ModelForm, name: str) -> str:
    return str(form[name].value() or "").strip()


def _own(price: Price | None) -> PriceSnapshot | None:
    if price is None:
        return None
    return PriceSnapshot(
        price.input_micros, price.output_micros, price.cached_input_micros
    )


def _known(price: PriceSnapshot) -> tuple[int, int, int]:
    """Return all that a price says; cached input without one costs as much as other."""
    cached = price.cached_input_micros
    cached = price.input_micros if cached is None else cached
    return price.input_micros, price.output_micros, cached
