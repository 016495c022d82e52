"""Reads what a caller may ask of a model, in the words of chat completions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings

from apps.core.errors import InvalidInput
from apps.engine.ports import CallParams
from apps.engine.structured import check_schema
from apps.gateway.parsing.extra_params import read_extra_params
from apps.gateway.parsing.json_fields import (
    check_size,
    read_bool,
    read_count,
    read_integer,
    read_number,
    read_object,
    type_error,
)
from apps.gateway.parsing.tools import read_parallel, read_tool_choice, read_tools

MAX_STOPS = 4
SEED_RANGE = (-(2**63), 2**63 - 1)
RESPONSE_FORMATS = ("text", "json_object", "json_schema")
FORMAT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_IGNORED_NAMES = 20
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def read_params(body: Mapping[str, Any]) -> CallParams:
    """Return the parameters of a chat completion. Raises: InvalidInput."""
    legacy_max = read_count(body, "max_tokens")
    tools = read_tools(body) if "tools" in body else ()
    return CallParams(
        max_tokens=read_count(body, "max_completion_tokens") or legacy_max,
        temperature=read_number(body, "temperature", 0, 2),
        top_p=read_number(body, "top_p", 0, 1),
        stop=read_stop(body, "stop"),
        seed=read_integer(body, "seed", *SEED_RANGE),
        response_format=_read_response_format(body),
        tools=tools,
        tool_choice=read_tool_choice(body, tools) if "tool_choice" in body else None,
        parallel_tool_calls=read_parallel(body, tools),
        extra=read_extra_params(body),
    )


def read_stop(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the field `name`, stop sequences. Raises: InvalidInput."""
    stop = body.get(name)
    if stop is None:
        return ()
    texts = [stop] if isinstance(stop, str) else stop
    if not isinstance(texts, list):
        raise type_error(name, "a string or a list of strings", stop)
    if len(texts) > MAX_STOPS:
        raise InvalidInput(
            f"{name}: {len(texts)} sequences, at most {MAX_STOPS} are allowed",
            param=name,
        )
    for index, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise type_error(f"{name}[{index}]", "a text that is not empty", text)
    return tuple(texts)


def _read_response_format(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    shape = read_object(body, "response_format")
    if shape is None:
        return None
    where = "response_format"
    kind = shape.get("type")
    if kind not in RESPONSE_FORMATS:
        raise InvalidInput(
            f"{where}.type: expected one of {', '.join(RESPONSE_FORMATS)}",
            param=f"{where}.type",
        )
    if kind == "text":
        return None
    check_size(shape, settings.MAX_SCHEMA_BYTES, where)
    if kind == "json_schema":
        named = read_object(shape, "json_schema", at=f"{where}.")
        if named is None:
            raise type_error(f"{where}.json_schema", "an object", None)
        check_named_schema(named, f"{where}.json_schema")
    return shape


def check_named_schema(named: Mapping[str, Any], where: str) -> None:
    """Check `{"name", "schema", "strict"}` that stand at `where`. Raises: InvalidInput.

    Without a schema any JSON will do.
    """
    name = named.get("name")
    if not isinstance(name, str) or not FORMAT_NAME.fullmatch(name):
        raise InvalidInput(
            f"{where}.name: expected 1 to 64 letters, digits, - or _",
            param=f"{where}.name",
        )
    read_bool(named, "strict", at=f"{where}.")
    schema = read_object(named, "schema", at=f"{where}.")
    if schema is None:
        return
    try:
        check_schema(schema)
    except ValueError as exc:
        place = f"{where}.schema"
        raise InvalidInput(f"{place}: {exc}", param=place) from exc


def names_family(body: Mapping[str, Any]) -> bool:
    """Say whether a request's metadata name a family of tasks."""
    metadata = body.get("metadata")
    return isinstance(metadata, dict) and metadata.get("family") is not None


def ignored_names(
    body: Mapping[str, Any], used: frozenset[str], more: Iterable[str] = ()
) -> str:
    """Return the names of fields that have no effect, for the ledger.

    `more`: names of things inside of fields that have none either.
    """
    if names_family(body):
        used |= {"metadata"}
    names = [*(name for name in body if name not in used), *more]
    if not names:
        return ""
    plain = sorted(name for name in names if PLAIN_NAME.fullmatch(name))
    shown = plain[:MAX_IGNORED_NAMES]
    if len(shown) < len(names):
        shown.append(f"+{len(names) - len(shown)}")
    return ",".join(shown)
