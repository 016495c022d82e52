"""The types of a worker's default parameters in pool files and in what services take.

Guarantees as in `value_types.py`: what passes fits its column, and no fault quotes a
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from apps.core.redaction import SECRET_FIELDS, redact
from apps.llm.types import EXTRA_PARAMS
from apps.pools.default_params import MAX_BUDGET_TOKENS

MAX_BODY_BYTES = 8_000
OURS = frozenset(
    {
        "contents",
        "input",
        "messages",
        "model",
        "n",
        "stream",
        "stream_options",
        "system",
        "systemInstruction",
        "toolConfig",
        "tool_choice",
        "tools",
    }
)
"""Fields of a request that say what is asked, so no record may set them."""


def _known(name: str) -> str:
    if name not in EXTRA_PARAMS:
        raise PydanticCustomError("param", "there is no such extra parameter")
    return name


def _sorted_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _fault(why: str) -> PydanticCustomError:
    return PydanticCustomError("extra_body", "{why}", {"why": why})


def _read_body(value: Any) -> dict[str, Any]:
    """Return an extra body, given as an object or as its JSON text."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value) if value.strip() else {}
        except orjson.JSONDecodeError:
            raise _fault("must be a JSON object") from None
    if not isinstance(value, Mapping):
        raise _fault("must be a JSON object")
    try:
        text = orjson.dumps(value, default=_number)
    except (orjson.JSONEncodeError, RecursionError):
        raise _fault("must be a JSON object, and not nested too deeply") from None
    if len(text) > MAX_BODY_BYTES:
        raise _fault(f"must have at most {MAX_BODY_BYTES} bytes")
    body: dict[str, Any] = orjson.loads(text)
    _check_names(body)
    if redact(text.decode()) != text.decode():
        raise _fault("looks like it holds a secret; keys belong in a credential")
    return body


def _number(value: Any) -> float:
    """Return a number of a pool file; those are read exactly."""
    if isinstance(value, Decimal) and value.is_finite():
        return float(value)
    raise TypeError


def _check_names(body: Mapping[str, Any]) -> None:
    for name in body:
        if name in OURS:
            raise _fault(f"must not set {name}, which each request sets itself")
        if name.lower() in SECRET_FIELDS:
            raise _fault("must not hold a secret; keys belong in a credential")


_KNOWN_SCHEMA = {"type": "string", "enum": list(EXTRA_PARAMS)}
ExtraParams = Annotated[
    tuple[Annotated[str, AfterValidator(_known), WithJsonSchema(_KNOWN_SCHEMA)], ...],
    Field(max_length=len(EXTRA_PARAMS)),
    AfterValidator(_sorted_once),
]
Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""A value of `ReasoningEffort`, or empty: the server's own."""
Budget = Annotated[int, Field(ge=1, le=MAX_BUDGET_TOKENS)]
ExtraBody = Annotated[dict[str, Any], BeforeValidator(_read_body)]
