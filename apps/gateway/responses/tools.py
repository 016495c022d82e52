"""Tools and text formats between the words of Responses and those of chat completions.

`read_…` takes what a client sent, `told_…` gives it back in its own words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from apps.core.errors import InvalidInput
from apps.gateway.parsing.json_fields import (
    check_size,
    read_object,
    read_text,
    type_error,
)
from apps.gateway.parsing.params import PLAIN_NAME, RESPONSE_FORMATS, check_named_schema
from apps.gateway.parsing.tools import (
    FUNCTION_FIELDS,
    Tools,
    check_choice_word,
    check_tools,
    function_tool,
    named_choice,
    require_function,
    tool_list,
)
from apps.gateway.responses.namespaces import (
    NAMESPACE,
    name_fields,
    read_called_name,
    read_namespace,
    told_namespaces,
)

FORMAT_FIELDS = ("name", "description", "schema", "strict")
MODES = ("auto", "required")
FUNCTION = "function"
Choice = str | Mapping[str, Any] | None


def read_tools(body: Mapping[str, Any]) -> Tools:
    """Return the functions in `tools` in words of chat completions.

    Raises: InvalidInput.
    """
    tools = []
    for index, tool in enumerate(tool_list(body)):
        where = f"tools[{index}]"
        if not isinstance(tool, dict):
            raise type_error(where, "an object", tool)
        kind = _kind(tool, where)
        if kind == FUNCTION:
            tools.append(function_tool(tool, where))
        elif kind == NAMESPACE:
            tools += read_namespace(tool, where)
    return check_tools(tools)


def left_out_tools(body: Mapping[str, Any]) -> list[str]:
    """Return the tools that are no functions, by place and kind, for the ledger.

    Nothing here could run them. Call it after `read_tools`, which checks them.
    """
    kinds = [tool["type"] for tool in tool_list(body)]
    return [
        f"tools[{index}]:{kind if PLAIN_NAME.fullmatch(kind) else '?'}"
        for index, kind in enumerate(kinds)
        if kind not in (FUNCTION, NAMESPACE)
    ]


def _kind(tool: Mapping[str, Any], where: str) -> str:
    kind = read_text(tool, "type", at=f"{where}.")
    if not kind:
        raise type_error(f"{where}.type", "a type", kind)
    return kind


def read_choice(body: Mapping[str, Any], tools: Tools) -> tuple[Tools, Choice]:
    """Return which of `tools` may be called, and how one is chosen.

    Raises: InvalidInput.
    """
    choice = body.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return tools, check_choice_word(choice, tools)
    if not isinstance(choice, dict):
        raise type_error("tool_choice", "a text or an object", choice)
    if choice.get("type") == "allowed_tools":
        return _read_allowed(choice, tools)
    require_function(choice, "tool_choice")
    name = read_called_name(choice, "tool_choice")
    return tools, named_choice(name, tools, "tool_choice.name")


def _read_allowed(choice: Mapping[str, Any], tools: Tools) -> tuple[Tools, Choice]:
    where = "tool_choice.tools"
    mode = choice.get("mode")
    if mode not in MODES:
        raise InvalidInput(
            f"tool_choice.mode: expected one of {', '.join(MODES)}",
            param="tool_choice.mode",
        )
    given = choice.get("tools")
    if not isinstance(given, list) or not given:
        raise type_error(where, "a list of tools", given)
    names = set()
    for index, tool in enumerate(given):
        if not isinstance(tool, dict):
            raise type_error(f"{where}[{index}]", "an object", tool)
        if _kind(tool, f"{where}[{index}]") != FUNCTION:
            continue
        name = read_called_name(tool, f"{where}[{index}]")
        named_choice(name, tools, f"{where}[{index}].name")
        names.add(name)
    if not names and mode == "required":
        raise InvalidInput(
            f"{where}: one of them is required, and none is a function", param=where
        )
    return tuple(t for t in tools if t["function"]["name"] in names), (
        mode if names else None
    )


def read_format(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return `text.format` in the words of chat completions; None for plain text.

    Raises: InvalidInput.
    """
    text = read_object(body, "text") or {}
    shape = read_object(text, "format", at="text.")
    if shape is None:
        return None
    kind = shape.get("type")
    if kind not in RESPONSE_FORMATS:
        raise InvalidInput(
            f"text.format.type: expected one of {', '.join(RESPONSE_FORMATS)}",
            param="text.format.type",
        )
    if kind == "json_schema":
        return {"type": kind, "json_schema": _read_schema(shape)}
    return None if kind == "text" else {"type": kind}


def _read_schema(shape: Mapping[str, Any]) -> dict[str, Any]:
    where = "text.format"
    if shape.get("description") is not None:
        read_text(shape, "description", at=f"{where}.")
    if shape.get("schema") is None:
        raise type_error(f"{where}.schema", "an object", None)
    named = {
        name: value for name in FORMAT_FIELDS if (value := shape.get(name)) is not None
    }
    check_size(named, settings.MAX_SCHEMA_BYTES, where)
    check_named_schema(named, where)
    return named


def told_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tools in the words of Responses."""
    return told_namespaces(_told_tool(tool["function"]) for tool in tools)


def _told_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: function.get(name) for name in FUNCTION_FIELDS}
    return {"type": "function", **told, **name_fields(function["name"])}


def told_choice(choice: Any) -> Any:
    """Return a choice of tools in the words of Responses."""
    if isinstance(choice, Mapping):
        return {"type": "function", **name_fields(choice["function"]["name"])}
    return choice or "auto"


def told_format(shape: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a text format in the words of Responses."""
    if shape is None:
        return {"type": "text"}
    if shape["type"] != "json_schema":
        return {"type": shape["type"]}
    inner = shape["json_schema"]
    told = {name: inner.get(name) for name in FORMAT_FIELDS}
    return {"type": "json_schema", **told}
