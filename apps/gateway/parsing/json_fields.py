"""Reads single fields of a JSON object; null counts as absent everywhere.

Each reader raises InvalidInput with `param` when the value has another type or range.
`at` is where the object stands in the request, for example `stream_options.`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from apps.core.errors import InvalidInput

JSON_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def type_error(where: str, expected: str, value: object) -> InvalidInput:
    """Return the error for a value of the wrong type."""
    name = where or "the request body"
    got = JSON_NAMES.get(type(value), "something else")
    if isinstance(value, str) and not value:
        got = "an empty text"
    return InvalidInput(f"{name}: expected {expected}, got {got}", param=where or None)


def read_text(body: Mapping[str, Any], name: str, *, at: str = "") -> str:
    """Return a text; it must be there."""
    value = body.get(name)
    if not isinstance(value, str):
        raise type_error(at + name, "a text", value)
    return value


def read_bool(body: Mapping[str, Any], name: str, *, at: str = "") -> bool:
    """Return a boolean, False if absent."""
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise type_error(at + name, "a boolean", value)
    return value


def read_object(
    body: Mapping[str, Any], name: str, *, at: str = ""
) -> dict[str, Any] | None:
    """Return an object, None if absent."""
    value = body.get(name)
    if value is None or isinstance(value, dict):
        return value
    raise type_error(at + name, "an object", value)


def read_number(
    body: Mapping[str, Any], name: str, low: float, high: float
) -> float | None:
    """Return a number from `low` to `high`, None if absent."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise type_error(name, "a number", value)
    if not low <= value <= high:
        raise InvalidInput(
            f"{name}: {value} is not between {low:g} and {high:g}", param=name
        )
    return float(value)


def read_integer(
    body: Mapping[str, Any], name: str, low: int, high: int, *, at: str = ""
) -> int | None:
    """Return a whole number from `low` to `high`, None if absent."""
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise type_error(at + name, "a whole number", value)
    if not low <= value <= high:
        raise InvalidInput(
            f"{at}{name}: {value} is not between {low} and {high}", param=at + name
        )
    return value


MAX_COUNT = 10_000_000
"""More tokens than any model can write; keeps nonsense out of databases."""


def read_count(body: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number above zero, None if absent."""
    return read_integer(body, name, 1, MAX_COUNT)


def check_size(value: Any, max_bytes: int, where: str) -> None:
    """Check that a JSON value can be passed on. Raises: InvalidInput."""
    try:
        # What orjson reads it can't always write: reading allows deeper nesting.
        size = len(orjson.dumps(value))
    except orjson.JSONEncodeError as exc:
        raise InvalidInput(f"{where}: nested too deeply", param=where) from exc
    if size > max_bytes:
        raise InvalidInput(
            f"{where}: {size} bytes, at most {max_bytes} are allowed", param=where
        )
