"""Reading and writing the JSON of providers, none of which is trusted."""

from __future__ import annotations

from typing import Any

import orjson

from apps.llm.bounds import Unreadable, load_json
from apps.llm.error_classification import error_event
from apps.llm.errors import BadRequest, BadResponse
from apps.llm.types import Endpoint, TokenUsage

MAX_BELIEVABLE_TOKENS = 1_000_000_000
"""A larger count is an error of the provider, and would not fit where it is summed."""


def encode(fields: dict[str, Any]) -> bytes:
    """Return `fields` as JSON. Raises: BadRequest if a value has no form in it."""
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError as exc:
        raise BadRequest(f"the request has no form in JSON: {exc}") from exc


def without_nones(fields: dict[str, Any]) -> dict[str, Any]:
    """Return only what is set."""
    return {key: value for key, value in fields.items() if value is not None}


def load_object(endpoint: Endpoint, payload: bytes) -> dict[str, Any]:
    """Return the JSON object in `payload`.

    Raises: BadResponse if there is none; what it says if it is an error.
    """
    try:
        value = load_json(payload)
    except Unreadable as exc:
        raise BadResponse(f"{endpoint.name!r}: {exc}") from None
    if not isinstance(value, dict):
        raise BadResponse(f"{endpoint.name!r}: expected a JSON object")
    if value.get("error"):
        raise error_event(endpoint, value["error"])
    if value.get("object") == "error":  # vLLM, before it wrapped its errors
        raise error_event(endpoint, value)
    return value


def text_in(value: Any) -> str:
    """Return `value` if it is a string, the joined text of a list of parts, or ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # content in parts; those that are no text are left out
        texts = (part.get("text") for part in objects_in(value))
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; nothing if it is no list."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def object_in(value: Any, key: str) -> dict[str, Any]:
    """Return the object at `key`; an empty one if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def count_in(value: Any, key: str) -> int | None:
    """Return the number of tokens at `key`; None if it cannot be believed."""
    count = value.get(key) if isinstance(value, dict) else None
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    return count if 0 <= count <= MAX_BELIEVABLE_TOKENS else None


def usage_of(
    prompt: int | None, completion: int | None, *, cached: int = 0, reasoning: int = 0
) -> TokenUsage | None:
    """Return the usage; None if the provider left one of its two sums out.

    A part is never more than its whole, whatever the provider says: prices are computed
    from the difference.
    """
    if prompt is None or completion is None:
        return None
    return TokenUsage(
        prompt, completion, min(cached, prompt), min(reasoning, completion)
    )
