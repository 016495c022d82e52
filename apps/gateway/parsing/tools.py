"""The caller's tools and `tool_choice`, in the shape of chat completions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings

from apps.core.errors import InvalidInput
from apps.gateway.parsing.json_fields import (
    read_bool,
    read_object,
    read_text,
    type_error,
)

MAX_NAME = 64
"""Characters of a tool's name in OpenAI's protocols."""
NAME = re.compile(r"[A-Za-z0-9_-]+")
CHOICES = ("none", "auto", "required")
FUNCTION_FIELDS = ("name", "description", "parameters", "strict")
Tools = tuple[Mapping[str, Any], ...]


def read_tools(body: Mapping[str, Any]) -> Tools:
    """Return the field `tools`, each tool once. Raises: InvalidInput."""
    given = tool_list(body)
    tools = []
    for index, tool in enumerate(given):
        where = f"tools[{index}]"
        if not isinstance(tool, dict):
            raise type_error(where, "an object", tool)
        require_function(tool, where)
        function = read_object(tool, "function", at=f"{where}.")
        if function is None:
            raise type_error(f"{where}.function", "an object", None)
        tools.append(function_tool(function, f"{where}.function"))
    return check_tools(tools)


def tool_list(body: Mapping[str, Any]) -> list[Any]:
    """Return the field `tools` unread, empty if absent. Raises: InvalidInput."""
    given = body.get("tools")
    if given is None:
        return []
    if not isinstance(given, list):
        raise type_error("tools", "a list of tools", given)
    if len(given) > settings.MAX_TOOLS:
        raise too_many(len(given))
    return given


def too_many(count: int) -> InvalidInput:
    """Return the error for more tools than a request may define."""
    return InvalidInput(
        f"tools: {count} tools, at most {settings.MAX_TOOLS} are allowed", param="tools"
    )


def require_function(tool: Mapping[str, Any], where: str) -> None:
    """Check that a tool, or a choice of one, is a function. Raises: InvalidInput."""
    if tool.get("type") != "function":
        raise InvalidInput(
            f"{where}.type: only tools of type function are supported",
            param=f"{where}.type",
        )


def function_tool(
    function: Mapping[str, Any], where: str, max_name: int = MAX_NAME
) -> dict[str, Any]:
    """Return a function as a tool of chat completions; `where` is where it stands.

    `max_name`: characters that the request's protocol allows a name. Raises:
    InvalidInput.
    """
    read_name(function, where, max_name)
    if function.get("description") is not None:
        read_text(function, "description", at=f"{where}.")
    read_object(function, "parameters", at=f"{where}.")
    read_bool(function, "strict", at=f"{where}.")
    known = {
        field: value
        for field in FUNCTION_FIELDS
        if (value := function.get(field)) is not None
    }
    return {"type": "function", "function": known}


def read_name(function: Mapping[str, Any], where: str, max_name: int = MAX_NAME) -> str:
    """Return the name of a function or namespace. Raises: InvalidInput."""
    name = read_text(function, "name", at=f"{where}.")
    if len(name) > max_name or not NAME.fullmatch(name):
        raise InvalidInput(
            f"{where}.name: expected 1 to {max_name} letters, digits, - or _",
            param=f"{where}.name",
        )
    return name


def check_tools(tools: list[dict[str, Any]]) -> Tools:
    """Check names and size of all tools together. Raises: InvalidInput."""
    if not tools:
        return ()
    if len(tools) > settings.MAX_TOOLS:
        raise too_many(len(tools))
    names: set[str] = set()
    for tool in tools:
        name = tool["function"]["name"]
        if name in names:
            raise InvalidInput(
                f"tools: two functions have the name {name!r}", param="tools"
            )
        names.add(name)
    try:
        # What orjson reads it can't always write: reading allows deeper nesting.
        size = len(orjson.dumps(tools))
    except orjson.JSONEncodeError as exc:
        raise InvalidInput("tools: nested too deeply", param="tools") from exc
    limit = settings.MAX_TOOLS_BYTES
    if size > limit:
        raise InvalidInput(
            f"tools: {size} bytes, at most {limit} are allowed", param="tools"
        )
    return tuple(tools)


def read_tool_choice(
    body: Mapping[str, Any], tools: Tools
) -> str | Mapping[str, Any] | None:
    """Return the field `tool_choice` for these tools. Raises: InvalidInput."""
    choice = body.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return check_choice_word(choice, tools)
    if not isinstance(choice, dict):
        raise type_error("tool_choice", "a text or an object", choice)
    require_function(choice, "tool_choice")
    function = read_object(choice, "function", at="tool_choice.") or {}
    name = read_text(function, "name", at="tool_choice.function.")
    return named_choice(name, tools, "tool_choice.function.name")


def check_choice_word(choice: str | None, tools: Tools) -> str | None:
    """Return a choice of one word; None where it makes no difference."""
    if choice is not None and choice not in CHOICES:
        raise InvalidInput(
            f"tool_choice: expected one of {', '.join(CHOICES)}, or a function",
            param="tool_choice",
        )
    if tools:
        return choice
    if choice == "required":
        raise InvalidInput("tool_choice: there are no tools", param="tool_choice")
    return None


def named_choice(name: str, tools: Tools, where: str) -> dict[str, Any]:
    """Return the choice of one function. Raises: InvalidInput if it is not there."""
    if all(tool["function"]["name"] != name for tool in tools):
        raise InvalidInput(f"{where}: there is no tool {name[:64]!r}", param=where)
    return {"type": "function", "function": {"name": name}}


def read_parallel(body: Mapping[str, Any], tools: Tools) -> bool | None:
    """Return the field `parallel_tool_calls`, None where it makes no difference."""
    if body.get("parallel_tool_calls") is None:
        return None
    value = read_bool(body, "parallel_tool_calls")
    return value if tools else None
