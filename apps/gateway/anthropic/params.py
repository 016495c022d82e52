"""Reads what a request of Anthropic's protocol asks of a model beside its question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from apps.core.errors import InvalidInput
from apps.gateway.parsing.extra_params import (
    MAX_BUDGET,
    MAX_TOP_K,
    read_extra_params,
    read_word,
)
from apps.gateway.parsing.json_fields import (
    check_size,
    read_integer,
    read_object,
    type_error,
)
from apps.gateway.parsing.params import check_named_schema

THINKING_KINDS = ("enabled", "adaptive", "between_tools", "disabled")
DISPLAYS = ("summarized", "omitted")
MIN_BUDGET = 1024
"""Tokens; the protocol's own."""
EFFORTS = ("low", "medium", "high", "xhigh", "max")
SERVICE_TIERS = ("auto", "standard_only")
SAME_WORDS = ("cache_control", "service_tier")
"""Extra parameters that are called the same in chat completions."""
FORMAT_NAME = "answer"
"""Formats have no names in this protocol, and need one in chat completions."""


@dataclass(frozen=True, slots=True)
class ThinkingOption:
    """What a request says of thinking."""

    for_workers: Mapping[str, Any] | None = None
    """In the words of chat completions. None: nothing is said."""
    is_shown: bool = False
    """True: thoughts are to be part of the answer."""


def read_thinking(body: Mapping[str, Any], max_tokens: int | None) -> ThinkingOption:
    """Return the field `thinking`. Raises: InvalidInput."""
    given = read_object(body, "thinking")
    if given is None:
        return ThinkingOption()
    at = "thinking."
    kind = read_word(given, "type", THINKING_KINDS, at=at)
    is_omitted = False
    if given.get("display") is not None:
        is_omitted = read_word(given, "display", DISPLAYS, at=at) == "omitted"
    if kind == "enabled":
        budget = _read_budget(given, max_tokens)
        wish = {"type": kind, "budget_tokens": budget}
    else:
        wish = {"type": "disabled" if kind == "disabled" else "adaptive"}
    return ThinkingOption(wish, is_shown=kind != "disabled" and not is_omitted)


def _read_budget(given: Mapping[str, Any], max_tokens: int | None) -> int:
    where = "thinking.budget_tokens"
    budget = read_integer(
        given, "budget_tokens", MIN_BUDGET, MAX_BUDGET, at="thinking."
    )
    if budget is None:
        raise type_error(where, "a whole number", None)
    if max_tokens is not None and budget >= max_tokens:
        raise InvalidInput(
            f"{where}: {budget} is not below max_tokens, which is {max_tokens}",
            param=where,
        )
    return budget


def read_extra(
    body: Mapping[str, Any], thinking: ThinkingOption
) -> dict[str, Any] | None:
    """Return what not every model takes, in the words of chat completions.

    Raises: InvalidInput.
    """
    if body.get("service_tier") is not None:
        read_word(body, "service_tier", SERVICE_TIERS)
    same = {name: body[name] for name in SAME_WORDS if name in body}
    found = read_extra_params(same) or {}
    if (top_k := read_integer(body, "top_k", 1, MAX_TOP_K)) is not None:
        found["top_k"] = top_k
    if thinking.for_workers is not None:
        found["thinking"] = thinking.for_workers
    config = read_object(body, "output_config") or {}
    if config.get("effort") is not None:
        effort = read_word(config, "effort", EFFORTS, at="output_config.")
        found["reasoning_effort"] = effort
    return found or None


def read_format(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return `output_config.format` in the words of chat completions.

    Raises: InvalidInput.
    """
    where = "output_config.format"
    config = read_object(body, "output_config") or {}
    shape = read_object(config, "format", at="output_config.")
    if shape is None:
        return None
    read_word(shape, "type", ("json_schema",), at=f"{where}.")
    schema = read_object(shape, "schema", at=f"{where}.")
    if schema is None:
        raise type_error(f"{where}.schema", "an object", None)
    check_size(schema, settings.MAX_SCHEMA_BYTES, f"{where}.schema")
    named = {"name": FORMAT_NAME, "schema": schema}
    check_named_schema(named, where)
    return {"type": "json_schema", "json_schema": named}
