"""Puts an answer into the JSON a `response_format` asks for."""

from __future__ import annotations

from typing import Any

import orjson

MAX_DEPTH = 8
"""Nested objects of a schema that are filled in."""


def as_json(short: str, source: str, schema: dict[str, Any] | None) -> str:
    """Return `short` as JSON: by `schema` if there is one, else under `answer`."""
    if schema is None:
        return _dump({"answer": short, "source": source})
    return _dump(_value(schema, short, 0))


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def _value(schema: Any, short: str, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return short
    if isinstance(choices := schema.get("enum"), list) and choices:
        return short if short in choices else choices[0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties")
            items = properties.items() if isinstance(properties, dict) else ()
            return {name: _value(part, short, depth + 1) for name, part in items}
        case "array":
            return [_value(schema.get("items"), short, depth + 1)]
        case "integer" | "number" as kind:
            return _number(short, is_whole=kind == "integer")
        case "boolean":
            return short == "Yes"
        case "null":
            return None
    return short


def _number(short: str, *, is_whole: bool) -> int | float:
    try:
        value = float(short.split()[0])
    except (IndexError, ValueError):
        return 0
    return int(value) if is_whole else value
