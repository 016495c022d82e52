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
    # Runs for every entry: most containers are settled by two calls into C.
    rest = [value]
    for item in rest:
        if isinstance(item, dict):
            if not "".join(item).isascii():
                raise NotCanonical(f"keys must be ASCII: {', '.join(item)!r}")
            values: Any = item.values()
        elif isinstance(item, (list, tuple)):
            values = item
        elif item is None or isinstance(item, (str, int)):
            continue
        else:
            raise NotCanonical(f"{item!r} has no canonical JSON")
        if not _PLAIN.issuperset(map(type, values)):
            rest += [part for part in values if type(part) not in _PLAIN]
