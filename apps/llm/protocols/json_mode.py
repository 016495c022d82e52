"""Asks for JSON in the prompt, where a protocol or a model has no other way.

This guarantees nothing: code that needs valid JSON checks the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.llm.protocols.json_values import encode, object_in

PLAIN = "Answer with one JSON object and nothing else: no introduction, no code fence."
BY_SCHEMA = (
    "Answer with one JSON value and nothing else: no introduction, no code fence. "
    "It must match this JSON schema:\n"
)


def wants_json(response_format: Mapping[str, Any] | None) -> bool:
    """Say whether the answer is to be JSON."""
    kind = (response_format or {}).get("type")
    return kind in ("json_object", "json_schema")


def schema_of(response_format: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the schema the answer is to match; an empty one: none."""
    return object_in(object_in(response_format, "json_schema"), "schema")


def with_instruction(system: str, response_format: Mapping[str, Any] | None) -> str:
    """Return `system` with a request for JSON at its end, if JSON is wanted."""
    if not wants_json(response_format):
        return system
    schema = schema_of(response_format)
    words = BY_SCHEMA + encode(schema).decode() if schema else PLAIN
    return f"{system}\n\n{words}" if system else words
