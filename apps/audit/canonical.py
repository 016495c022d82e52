"""Canonical JSON: one value, one sequence of bytes, as RFC 8785 defines it.

Values on which orjson and the RFC could disagree are refused: floats, integers beyond
2^53-1, keys that are not ASCII (the RFC sorts by UTF-16, orjson by code point), lone
surrogates and types that JSON does not have. What remains comes out equal.
"""

from __future__ import annotations

from typing import Any

import orjson

from apps.audit.errors import NotCanonical

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_PLAIN = frozenset({str, int, bool, type(None)})


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical JSON of `value`. Raises: NotCanonical."""
    try:
        encoded: bytes = orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError as exc:
        raise NotCanonical(f"a value has no canonical JSON: {exc}") from exc
    # After the encoding, which bounds the depth and refuses cycles.
    _refuse_ambiguous(value)
    return encoded


def _refuse_ambiguous(value: Any) -> None:
    rest = [value]
    while rest:
        item = rest.pop()
        kind = type(item)
        if kind in _PLAIN:
            continue
        if kind is dict:
            _refuse_keys(item)
            rest.extend(item.values())
        elif kind is list or kind is tuple:
            rest.extend(item)
        elif not isinstance(item, (str, int)):
            raise NotCanonical(f"{kind.__name__} has no canonical JSON: {item!r}")


def _refuse_keys(item: dict[Any, Any]) -> None:
    for key in item:
        if type(key) is not str or not key.isascii():
            raise NotCanonical(f"key {key!r}: expected ASCII text")
