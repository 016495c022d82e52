"""Texts inside JSON values, and values with other texts. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def json_read(text: str) -> Any:
    """Return the value that a JSON text stands for; the text itself if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value, with the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif _is_number(value):
        yield str(value)


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with its texts changed, names of fields among them.

    A number that is changed becomes a text.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(name): with_texts(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(with_texts(each, change) for each in value)
    if _is_number(value) and (changed := change(str(value))) != str(value):
        return changed
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
