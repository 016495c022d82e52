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
from apps.gateway.parsing.json_fields import type_error

SMALL_BYTES = 100_000
"""A body of this size is read in a few milliseconds, whatever it is made of."""
MAX_VALUES = 150_000
"""In one body; far more than any honest request has."""
MARKS = (b",", b"[", b"{")
"""What begins a value, or stands before the next one."""


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
    in_texts = settings.MAX_PROMPT_BYTES
    marks = _count(raw, MARKS, MAX_VALUES + in_texts)
    if marks <= MAX_VALUES:
        return
    # Perhaps most of them are inside of texts, where they cost nothing.
    is_crowded = (
        marks > MAX_VALUES + in_texts
        or _count(raw, (b"\\",), 2 * in_texts) > 2 * in_texts
        or _marks_beside_texts(raw) > MAX_VALUES
    )
    if is_crowded:
        raise InvalidInput(f"the request body holds more than {MAX_VALUES} values")


def _marks_beside_texts(raw: bytes) -> int:
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = _count(bare, (b'"',), 2 * MAX_VALUES)
    if quotes > 2 * MAX_VALUES:
        return quotes
    return _count(b"".join(bare.split(b'"')[::2]), MARKS, MAX_VALUES)


def _count(raw: bytes, marks: tuple[bytes, ...], most: int) -> int:
    """Return how often one of `marks` is in `raw`, or a number above `most`."""
    found = 0
    for start in range(0, len(raw), SMALL_BYTES):
        found += sum(raw.count(mark, start, start + SMALL_BYTES) for mark in marks)
        if found > most:
            break
    return found


def _colons(body: dict[str, Any]) -> int:
    """Count the names in `body`, and the colons in all its strings."""
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
