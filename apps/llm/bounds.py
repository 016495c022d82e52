"""Bounds on the size and shape of what providers send.

Every limit applies before the bytes in question are parsed or searched. Guarantees that
reading JSON takes time linear in its bytes, a few milliseconds for each megabyte, and
that no value read is nested deeper than what every reader and writer of JSON here
takes.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import orjson

MAX_DEPTH = 100
"""Arrays and objects inside of each other. `orjson` writes at most 254 levels."""
MAX_VALUES = 25_000
"""Values of one JSON text: reading costs by the value, not by the byte. Arguments of a
tool reach this with a list of 25,000 numbers."""
MAX_EVENT_BYTES = 1_000_000
"""One event of a stream. The longest honest one holds all arguments of a tool call."""
MAX_SILENT_EVENTS = 100_000
"""Lines without an event, or events without content, one after the other. A model that
hides its thinking may send one for each token of it."""
MAX_CHARACTERS = 2_000_000
"""Text, thinking and tool arguments of one answer; four times what any model writes."""
MAX_REFUSAL_CHARACTERS = 20_000
"""Characters kept of a model's words in place of an answer."""
BODY_BYTES_PER_CHARACTER = 4
"""How long a body may be that holds the whole answer: escapes included."""
STREAM_BYTES_PER_CHARACTER = 16
"""How long a stream may be: each token comes with some 200 bytes of frame."""
MAX_REFUSAL_BYTES = 64_000
"""Of the body of an error."""
MAX_COMPLAINT_CHARACTERS = 4_000
"""What is kept and searched of a provider's words about an error."""
LARGE_BYTES = 64_000
"""What is longer is read in a thread: from here on it can take 5 ms."""

_BRACKETS_AND_COMMAS = b"[]{},"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS_AND_COMMAS))
_STEPS = [0] * 256
for _opening in b"[{":
    _STEPS[_opening] = 1
for _closing in b"]}":
    _STEPS[_closing] = -1


class Unreadable(ValueError):
    """Bytes are not JSON, or JSON of a shape that is not read."""


def load_json(payload: bytes, max_values: int = MAX_VALUES) -> Any:
    """Return the value in `payload`. Raises: Unreadable."""
    opened = payload.count(b"[") + payload.count(b"{")
    # Each value but the first needs a comma. Most texts need no closer look.
    if opened > MAX_DEPTH or len(payload) > 2 * max_values:
        check_shape(payload, max_values)
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError as exc:
        raise Unreadable(f"not JSON: {exc.msg}") from None


def check_shape(payload: bytes, max_values: int = MAX_VALUES) -> None:
    """Refuse JSON that is nested too deep or has too many values. Raises: Unreadable.

    Says nothing about text that is no JSON: a parser stops where it ceases to be any.
    """
    opened = payload.count(b"[") + payload.count(b"{")
    is_short = len(payload) <= 2 * max_values  # each value but the first needs a comma
    if opened <= MAX_DEPTH and (is_short or opened + payload.count(b",") <= max_values):
        return
    found = _structure(payload, max_values)
    brackets = found.translate(None, b",")
    if len(found) - len(brackets) // 2 > max_values:
        raise Unreadable(f"JSON with more than {max_values} values")
    if _depth(brackets) > MAX_DEPTH:
        raise Unreadable(f"JSON nested deeper than {MAX_DEPTH} levels")


def _structure(payload: bytes, max_values: int) -> bytes:
    """Return the brackets and commas outside of strings."""
    plain = payload.replace(rb"\\", b"").replace(rb"\"", b"")
    if plain.count(b'"') > 4 * max_values:  # a name and a text for each value
        raise Unreadable(f"JSON with more than {max_values} values")
    return b"".join(plain.split(b'"')[::2]).translate(None, _OTHERS)


def _depth(brackets: bytes) -> int:
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)
