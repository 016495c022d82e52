"""Writes `run-events.schema.json`: the facts and texts of each event of a run.

One copy is for readers of `docs`, one goes into every export of a run.

`python -m deploy.event_schema`; a test fails while the file is outdated.
"""

from __future__ import annotations

import dataclasses
import json
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from apps.engine.events import ALL_EVENTS, BODY, Event
from apps.engine.usage import Usage

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    ROOT / "docs" / "run-events.schema.json",
    ROOT / "apps" / "audit" / "bundles" / "files" / "run-events.schema.json",
)
PLAIN = {str: "string", int: "integer", bool: "boolean"}


def event_schema() -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) with one definition for each action."""
    definitions = {kind.action: _definition(kind) for kind in ALL_EVENTS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Entries of a run in Conductor's ledger",
        "description": "`data` has the facts of an entry, `bodies` its texts, of which "
        "the entry holds the digest. An entry from before a field was added lacks it; "
        "a text that is empty or erased is left out.",
        "$defs": definitions,
        "oneOf": [{"$ref": f"#/$defs/{action}"} for action in definitions],
    }


def _definition(kind: type[Event]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    facts: dict[str, Any] = {}
    bodies: dict[str, Any] = {}
    required = []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if BODY in getattr(hint, "__metadata__", ()):
            bodies[field.name] = {"type": "string"}
            continue
        facts[field.name] = _shape(hint)
        if field.default is dataclasses.MISSING:
            required.append(field.name)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").partition("\n")[0],
        "properties": {
            "action": {"const": kind.action},
            "data": _object(facts, required),
            "bodies": _object(bodies, []),
        },
        "required": ["action", "data"],
    }


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _shape(hint: Any) -> dict[str, Any]:
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if hint is type(None):
        return {"type": "null"}
    if hint is Usage:
        counts = get_type_hints(Usage)
        return _object({name: _shape(each) for name, each in counts.items()}, [*counts])
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        return {"type": "array", "items": _shape(parts[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _shape(parts[1])}
    if origin in (types.UnionType, Union):
        return {"anyOf": [_shape(part) for part in parts]}
    raise TypeError(f"no schema for {hint!r}")


def schema_text() -> str:
    """Return the schema as the file has it."""
    return json.dumps(event_schema(), indent=1) + "\n"


if __name__ == "__main__":
    for file in FILES:
        file.write_text(schema_text(), encoding="utf-8")
