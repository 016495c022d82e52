"""A public list of providers' prices, by model.

Guarantees: a price is found only for an address of the very provider that asks it, so a
model on somebody's own server has none; amounts are whole micro-dollars; what is not
known, or could not be told exactly, is None and never zero. Knows no database.

The list and its schema are those of `genai_prices`. It takes half a second to import,
so that is done for the first look-up; it brings an HTTP client of its own, which is
never called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.pools.base_urls import DEFAULT_PORTS
from apps.pools.errors import PriceListInvalid
from apps.pools.types import ListPrice, PriceSnapshot
from apps.pools.value_types import MAX_USD_PER_MILLION, MICROS

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

BUNDLED_VERSION, BUNDLED_ON = "0.2.3", date(2026, 11, 10)
"""The release of the library that this version comes with, and its day."""
MAX_NAME, MAX_ADDRESS = 200, 500
"""Longer names fit no column."""
REMEMBERED = 4_096
"""Look-ups by address and model; a site has some tens of them."""
AMOUNTS = ("input_mtok", "output_mtok", "cache_read_mtok")
NOT_JSON = (ValueError, RecursionError)
NOT_OF_THE_SCHEMA = (
    ValueError,  # pydantic's own, too
    TypeError,
    AssertionError,
    LookupError,
    StopIteration,
    ArithmeticError,
    RecursionError,
    re.error,
)
"""What the library's schema raises over one foul document or another."""


class PriceBook:
    """A list of prices that has been found to be in order."""

    def __init__(self, providers: Sequence[Provider], as_of: date) -> None:
        self._providers = list(providers)
        self._as_of = as_of
        self._known = lru_cache(maxsize=REMEMBERED)(self._find)

    def price(
        self, base_url: str, model: str, now: datetime | None = None
    ) -> ListPrice | None:
        """Return the list price of a model at an address; None: unknown."""
        if len(base_url) > MAX_ADDRESS or not 0 < len(model) <= MAX_NAME:
            return None
        found = self._known(base_url, model)
        if found is None:
            return None
        provider, info = found
        listed = _prices(info, now or timezone.now())
        price = None if listed is None else _snapshot(listed)
        if listed is None or price is None:
            return None
        by_hour = _changes_by_hour(info)
        return ListPrice(
            provider=provider.name,
            model=model,
            as_of=self._as_of,
            price=price,
            remarks=tuple(_remarks(listed, by_hour)),
            changes_by_hour=by_hour,
        )

    def count(self) -> int:
        """Return how many models have a usable price now."""
        now = timezone.now()
        models = (model for provider in self._providers for model in provider.models)
        listed = (_prices(model, now) for model in models)
        return sum(1 for each in listed if each is not None and _snapshot(each))

    def _find(self, base_url: str, model: str) -> tuple[Provider, ModelInfo] | None:
        for provider in self._providers:
            if _is_at(provider.api_pattern, base_url):
                info = provider.find_model(model, all_providers=self._providers)
                return None if info is None else (provider, info)
        return None


def bundled_book() -> PriceBook:
    """Return the list that came with this version."""
    from genai_prices.data import providers

    return PriceBook(providers, BUNDLED_ON)


def book_read(document: bytes, as_of: date) -> PriceBook:
    """Return the list that `document` is, in the library's form.

    Raises: PriceListInvalid, for a list without a single usable price too.
    """
    from genai_prices import types

    try:
        listed = _without_extractors(_json(document))
        # The library's own reading of a fetched list; it has no public name.
        providers = types._providers_from_raw(listed)
        for pattern in _patterns(providers):
            re.compile(pattern)
        book = PriceBook(providers, as_of)
        models = book.count()
    except NOT_OF_THE_SCHEMA:
        models = -1
    # Raised out here: the original error quotes the document.
    if models < 0:
        raise PriceListInvalid("not a list of prices as this version reads them")
    if not models:
        raise PriceListInvalid("a list without any price")
    return book


def _json(document: bytes) -> list[Any]:
    try:
        value = json.loads(document, parse_float=Decimal, parse_constant=_refuse)
    except NOT_JSON:
        value = None
    if not isinstance(value, list):
        raise PriceListInvalid("not a list in JSON")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _without_extractors(providers: list[Any]) -> list[Any]:
    """Leave out what we do not use, and what the library warns of when it is new."""
    return [
        {key: value for key, value in each.items() if key != "extractors"}
        if isinstance(each, dict)
        else each
        for each in providers
    ]


def _patterns(providers: Sequence[Provider]) -> Iterator[str]:
    """Yield every regular expression of a list, which its schema does not try."""
    for provider in providers:
        yield provider.api_pattern
        for model in provider.models:
            yield from _clause_patterns(model.match)


def _clause_patterns(clause: Any) -> Iterator[str]:
    if hasattr(clause, "regex"):
        yield clause.regex
    for inner in getattr(clause, "or_", getattr(clause, "and_", ())):
        yield from _clause_patterns(inner)


def _is_at(pattern: str, base_url: str) -> bool:
    """Say whether an address is the provider's whose pattern this is.

    Patterns are prefixes. One that ends within the host must have met all of it, but
    for a top-level domain it leaves open; one that reaches into the path must be about
    this host: `.*` in it may have run through a path that names the provider.
    """
    place = _place(base_url)
    if place is None:
        return False
    start, path = place
    found = re.match(pattern, start + path)
    if found is None:
        return False
    if found.end() > len(start):
        return not re.match(pattern, f"https://nowhere{path}")
    rest = start[found.end() :]
    return not rest or (found.group().endswith(".") and rest.isalpha())


def _place(base_url: str) -> tuple[str, str] | None:
    """Return `scheme://host` in its plain form, and the path; None: no address."""
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    host = parts.hostname.removesuffix(".")
    if port not in (None, DEFAULT_PORTS[parts.scheme]):
        host = f"{host}:{port}"
    return f"{parts.scheme}://{host}", parts.path


def _prices(model: ModelInfo, now: datetime) -> ModelPrice | None:
    return model.get_prices(now) if model.prices else None


def _changes_by_hour(model: ModelInfo) -> bool:
    conditional = model.prices if isinstance(model.prices, list) else []
    return any(hasattr(each.constraint, "start_time") for each in conditional)


def _snapshot(listed: ModelPrice) -> PriceSnapshot | None:
    """Return a price in whole micro-dollars; None if a part of it is not known."""
    given = [getattr(listed, name) for name in AMOUNTS]
    micros = [None if each is None else _micros(each) for each in given]
    has_unusable = any(
        amount is not None and whole is None
        for amount, whole in zip(given, micros, strict=True)
    )
    in_micros, out_micros, cached_micros = micros
    if has_unusable or in_micros is None or out_micros is None:
        return None
    return PriceSnapshot(in_micros, out_micros, cached_micros)


def _micros(amount: Any) -> int | None:
    """Return dollars (for tiers, the first) as micro-dollars; None: out of bounds.

    Some lists hold 0.18000000000000002: rounded to the micro-dollar for a million
    tokens. What would be rounded to nothing is not known, for it is not free.
    """
    dollars = Decimal(getattr(amount, "base", amount))
    if not dollars.is_finite() or not 0 <= dollars <= MAX_USD_PER_MILLION:
        return None
    whole = int((dollars * MICROS).to_integral_value(ROUND_HALF_UP))
    return None if dollars and not whole else whole


def _remarks(listed: ModelPrice, by_hour: bool) -> Iterator[str]:
    tiers = [
        tier.start
        for name in AMOUNTS
        for tier in getattr(getattr(listed, name), "tiers", ())
    ]
    if tiers:
        yield f"Requests of more than {min(tiers):,} input tokens have another price."
    if by_hour:
        yield gettext_noop(
            "The price changes with the time of day; this is the one just now."
        )
    if listed.requests_kcount:
        yield gettext_noop("Each request costs something besides.")
