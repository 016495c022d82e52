"""The types that pool files and the values of pages and programs are made of.

Guarantees: what passes fits its column, and no fault quotes a value, because a secret
written in the wrong place must not end up in a log. Knows no database.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from apps.core.input_parts import one_line
from apps.pools.base_urls import base_url_clean
from apps.pools.models import NAME_LENGTH, NAME_PATTERN

MICROS = 1_000_000
PROVIDER = "provider"
"""The kind of the tag that every worker has by its address."""
_WORD = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_TAG = rf"({_WORD}:)?{_WORD}"
MAX_USD_PER_MILLION = 10_000
"""More than ten times the highest price we know of: beyond it is a typing error."""
MAX_TOKENS = 100_000_000
"""Bound on numbers of tokens of one call; a run may be allowed more."""


def _clean_base_url(text: str) -> str:
    try:
        return base_url_clean(text)
    except ValueError as exc:
        raise PydanticCustomError("base_url", "{why}", {"why": str(exc)}) from exc


def _exact_decimal(value: Any) -> Any:
    # A float has lost the digits that were written; YAML numbers arrive as Decimal.
    if isinstance(value, float | bool):
        raise PydanticCustomError("price", "must be a decimal number or text")
    return value


def _whole_micros(value: Decimal) -> Decimal:
    if value * MICROS % 1:
        raise PydanticCustomError("price", "must have at most six decimal places")
    return value


def _no_dot_segments(text: str) -> str:
    # Some protocols put the name into the address, where they lead upwards.
    if {".", ".."} & set(text.split("/")):
        raise PydanticCustomError("text", "must not have '.' or '..' between slashes")
    return text


def _several_lines(text: str) -> str:
    # PostgreSQL stores no NUL, and nobody means the others.
    if not all(c.isprintable() or c in "\n\r\t" for c in text):
        raise PydanticCustomError("text", "must not contain control characters")
    return text


def _tag_checked(text: str) -> str:
    if not re.fullmatch(_TAG, text, re.ASCII):
        raise PydanticCustomError(
            "tag",
            "use letters, digits, '.', '_' and '-', if you like with a kind before a "
            "colon: eu, region:eu",
        )
    if text.lower().startswith(f"{PROVIDER}:"):
        raise PydanticCustomError(
            "tag", "tags of the kind 'provider' follow from the worker's address"
        )
    return text


Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=NAME_LENGTH)]
Tag = Annotated[str, Field(max_length=NAME_LENGTH), AfterValidator(_tag_checked)]
"""A word, or one of a kind: `eu`, `region:eu`."""
ModelName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(one_line),
    AfterValidator(_no_dot_segments),
]
Prose = Annotated[str, Field(max_length=4000), AfterValidator(_several_lines)]
BaseUrl = Annotated[str, Field(max_length=500), AfterValidator(_clean_base_url)]
VariableName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)
]
Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]
Usd = Annotated[
    Decimal,
    BeforeValidator(_exact_decimal),
    Field(ge=0, le=MAX_USD_PER_MILLION, allow_inf_nan=False),
    AfterValidator(_whole_micros),
]


def price_columns(
    input_usd: Decimal, output_usd: Decimal, cached_input_usd: Decimal | None
) -> dict[str, int | None]:
    """Return a price in whole micro-dollars, under the names of the table."""
    cached = cached_input_usd
    return {
        "input_micros": int(input_usd * MICROS),
        "output_micros": int(output_usd * MICROS),
        "cached_input_micros": None if cached is None else int(cached * MICROS),
    }
