"""Texts inside JSON values, and values with other texts. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[bfnrt])")
"""Escapes of a character, by its number, or of white space."""


def texts_in_json(text: str) -> Iterator[str]:
    """Yield the texts in a JSON text, also those of names that are there twice.

    A text that is no JSON, or is nested too deeply to be read, is yielded itself, as
    it is and with its escapes read.
    """
    try:
        value = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        yield text
        yield _ESCAPE.sub(lambda found: chr(int(found[1] or "20", 16)), text)
    else:
        yield from texts_in(value)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value, with the names of its fields."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            waiting += reversed([part for pair in each.items() for part in pair])
        elif isinstance(each, list | tuple):
            waiting += reversed(each)
        elif _is_number(each):
            yield str(each)


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
