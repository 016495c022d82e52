"""Extra parameters: the request's, filled up by the endpoint's own.

How hard a model thinks is said in two ways, by `reasoning_effort` and by `thinking`. A
request that says it in either way has said it: the endpoint's defaults for both are
then left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.llm.types import ChatRequest, Endpoint

EFFORT, THINKING = "reasoning_effort", "thinking"
CACHE_CONTROL = "cache_control"
"""True: parts of the messages carry cache marks. A mapping: the mark for all of it."""
_DEPTH = frozenset({EFFORT, THINKING})
_NOTHING: Mapping[str, Any] = {}


def extra_params(endpoint: Endpoint, request: ChatRequest) -> Mapping[str, Any]:
    """Return the extra parameters of a call."""
    given = request.extra or _NOTHING
    default = endpoint.default_params
    if not default:
        return given
    if not _DEPTH.isdisjoint(given):
        default = {name: default[name] for name in default if name not in _DEPTH}
    return {**default, **given}


def with_extra_body(endpoint: Endpoint, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a body over the endpoint's own.

    Where both are objects their members are put together; else `fields` count.
    """
    body = endpoint.extra_body
    if not body:
        return fields
    merged = {**body, **fields}
    for name, value in body.items():
        ours = fields.get(name)
        if isinstance(value, Mapping) and isinstance(ours, Mapping):
            merged[name] = {**value, **ours}
    return merged
