"""Request bodies: one JSON object, read strictly and in bounded time.

Refused with 400: what is not UTF-8 or not JSON, NaN and infinities, lone surrogates,
deep nesting, more values than any honest request has, and an object that names a field
twice, because then two readers see two requests.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import orjson
from django.conf import settings

from apps.core.errors import InvalidInput
from apps.gateway.fields import type_error

SMALL_BYTES = 100_000
"""A body of this size is read in a few milliseconds, whatever it is made of."""
SPARE_VALUES = 50_000
"""Values beside the text, of which every second character may be a comma."""


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in `raw`. Raises: InvalidInput."""
    if len(raw) > SMALL_BYTES:
        _refuse_crowded(raw)
    try:
        # orjson refuses NaN, infinities, lone surrogates, bad UTF-8 and deep nesting.
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise InvalidInput(f"the request body is not valid JSON: {exc}") from exc
    if not isinstance(body, dict):
        raise type_error("", "a JSON object", body)
    # Each name is followed by a colon; all others are inside of texts. Where the sum is
    # right no name was lost, so nothing was there twice. An escaped colon could make
    # up for a lost one.
    if b"\\u003" in raw:
        _refuse_repeated_names(raw)
    elif raw.count(b":") != _colons(body):
        if len(raw) <= SMALL_BYTES:  # else it is not worth the time to say which one
            _refuse_repeated_names(raw)
        raise InvalidInput("the request body names a field twice")
    return body


def _refuse_crowded(raw: bytes) -> None:
    # Reading costs by the value, not by the byte: 4 MB of "[]," take 0.3 seconds.
    limit = settings.MAX_PROMPT_BYTES // 2 + SPARE_VALUES
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > limit:
        raise InvalidInput(f"the request body holds more than {limit} values")


def _colons(body: dict[str, Any]) -> int:
    """Count the names in `body`, and the colons in all its texts."""
    found = 0
    waiting: list[Any] = [body]
    while waiting:
        value = waiting.pop()
        if type(value) is str:
            found += value.count(":")
        elif type(value) is dict:
            found += len(value)
            for name, held in value.items():
                if ":" in name:
                    found += name.count(":")
                kind = type(held)
                if kind is str:
                    found += held.count(":")
                elif kind is dict or kind is list:
                    waiting.append(held)
        elif type(value) is list:
            waiting += value
    return found


def _refuse_repeated_names(raw: bytes) -> None:
    try:
        json.loads(raw, object_pairs_hook=_object)
    except ValueError as exc:
        raise InvalidInput(f"the request body is not valid JSON: {exc}") from exc


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        often = Counter(name for name, _ in pairs)
        twice = often.most_common(1)[0][0]
        raise ValueError(f"the name {twice[:100]!r} is there twice")
    return found
