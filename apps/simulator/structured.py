"""Puts an answer into the JSON a schema asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

MAX_DEPTH = 8
"""Nested objects of a schema that are filled in."""
FULL_DEPTH = 3
"""How deep every property is filled in; further down only what is required."""
MAX_ITEMS = 20
"""Items of a list that are made up because the schema wants so many."""

Schema = Mapping[str, Any]


def as_json(short: str, source: str, schema: Schema | None) -> str:
    """Return `short` as JSON: by `schema` if there is one, else under `answer`."""
    if schema is None:
        return _dump({"answer": short, "source": source})
    return _dump(value_of(schema, short))


def value_of(schema: Schema, short: str) -> Any:
    """Return a value that follows `schema` and says `short` wherever it can."""
    return _value(schema, short, 0, schema)


def number(text: str, is_whole: bool) -> int | float:
    """Return the number `text` begins with, 0 if there is none."""
    try:
        value = float(text.split()[0])
    except (IndexError, ValueError):
        return 0
    return int(value) if is_whole else value


def first_type(kind: Any) -> str:
    """Return the type a schema names, in lower case; the first that is not null."""
    kinds = kind if isinstance(kind, list) else [kind]
    names = [str(k).lower() for k in kinds if isinstance(k, str)]
    return next((name for name in names if name != "null"), names[0] if names else "")


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def _value(schema: Any, short: str, depth: int, root: Schema) -> Any:
    schema = _resolved(schema, root)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return short
    if "const" in schema:
        return schema["const"]
    if choices := _choices(schema, "enum"):
        return short if short in choices else choices[0]
    if choices := _choices(schema, "anyOf", "oneOf"):
        return _value(choices[0], short, depth + 1, root)
    match first_type(schema.get("type")) or _implied(schema):
        case "object":
            items = _properties(schema, has_all=depth < FULL_DEPTH)
            return {n: _value(part, short, depth + 1, root) for n, part in items}
        case "array":
            least = schema.get("minItems")
            count = min(max(least if isinstance(least, int) else 1, 1), MAX_ITEMS)
            return [_value(schema.get("items"), short, depth + 1, root)] * count
        case "integer" | "number" as kind:
            return _within(schema, number(short, kind == "integer"))
        case "boolean":
            return short == "Yes"
        case "null":
            return None
    return _text(schema, short)


def _properties(schema: Schema, *, has_all: bool) -> list[tuple[str, Any]]:
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    items = properties.items() if isinstance(properties, dict) else ()
    return [(name, part) for name, part in items if has_all or name in needed]


def _choices(schema: Schema, *names: str) -> list[Any]:
    lists = (schema.get(name) for name in names)
    return next((found for found in lists if isinstance(found, list)), [])


def _resolved(schema: Any, root: Schema) -> Any:
    """Follow references inside the schema, as far as they lead anywhere."""
    for _ in range(MAX_DEPTH):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        schema = root
        for name in reference.split("/")[1:]:
            schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _implied(schema: Schema) -> str:
    return "object" if "properties" in schema else ""


def _within(schema: Schema, value: int | float) -> int | float:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        return least
    return most if isinstance(most, int | float) and value > most else value


def _text(schema: Schema, short: str) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int):
        short = short.ljust(least, ".")
    return short[:most] if isinstance(most, int) else short
