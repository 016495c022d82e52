"""The tools a caller offers, read from the shape of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from apps.llm.errors import BadRequest
from apps.llm.protocols.json_values import object_in, objects_in
from apps.llm.types import ChatRequest


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the caller."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its arguments; always that of an object."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What the model may or must do with the functions."""

    mode: Literal["auto", "none", "required"]
    only: tuple[str, ...] = ()
    """Names of the functions it may call; empty: all."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Functions and choice of one request."""

    functions: tuple[Function, ...]
    choice: ToolChoice
    is_parallel: bool
    """False: one call at most."""


def read_tools(request: ChatRequest) -> Tools | None:
    """Return what `request` offers; None: nothing. Raises: BadRequest."""
    if not request.tools:
        return None
    functions = tuple(
        _function(f"tools[{place}]", tool) for place, tool in enumerate(request.tools)
    )
    choice = _choice(request.tool_choice)
    return Tools(functions, choice, request.parallel_tool_calls is not False)


def _function(place: str, tool: Mapping[str, Any]) -> Function:
    function = object_in(tool, "function")
    name = function.get("name")
    if tool.get("type") != "function" or not isinstance(name, str) or not name:
        raise BadRequest(f"{place} is no function with a name")
    schema = {"type": "object", "properties": {}} | object_in(function, "parameters")
    return Function(name, str(function.get("description") or ""), schema)


def _choice(value: str | Mapping[str, Any] | None) -> ToolChoice:
    if value is None or value == "auto":
        return ToolChoice("auto")
    if value == "none":
        return ToolChoice("none")
    if value == "required":
        return ToolChoice("required")
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "function":
        return ToolChoice("required", (_name(value),))
    if kind == "allowed_tools":
        allowed = object_in(value, "allowed_tools")
        names = tuple(_name(tool) for tool in objects_in(allowed.get("tools")))
        mode = allowed.get("mode")
        return ToolChoice("required" if mode == "required" else "auto", names)
    raise BadRequest("tool_choice is neither a known word nor a function")


def _name(value: Any) -> str:
    name = object_in(value, "function").get("name")
    if not isinstance(name, str) or not name:
        raise BadRequest("tool_choice names no function")
    return name
