"""Tools and `tool_choice` of Anthropic's protocol in the words of chat completions.

Tools that the protocol's own provider defines (web search, code execution, a text
editor, …) have no schema that other models could follow: they are left out by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.errors import InvalidInput
from apps.gateway.parsing.json_fields import (
    read_bool,
    read_object,
    read_text,
    type_error,
)
from apps.gateway.parsing.tools import (
    Tools,
    check_tools,
    function_tool,
    named_choice,
    tool_list,
)

CUSTOM = "custom"
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
MAX_NAME = 128
"""Characters of a tool's name in this protocol."""
MAX_TYPE = 64
"""Characters of a tool's type that are kept."""


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """Which tools may be called, and how one is chosen."""

    tools: Tools = ()
    choice: str | Mapping[str, Any] | None = None
    is_parallel: bool | None = None
    """None: where it makes no difference."""
    left_out: tuple[str, ...] = ()
    """Types of the tools that no worker can use."""


def read_tool_options(body: Mapping[str, Any]) -> ToolOptions:
    """Return the fields `tools` and `tool_choice`. Raises: InvalidInput."""
    tools: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for index, tool in enumerate(tool_list(body)):
        where = f"tools[{index}]"
        if not isinstance(tool, dict):
            raise type_error(where, "an object", tool)
        kind = tool.get("type")
        if kind is not None and not isinstance(kind, str):
            raise type_error(f"{where}.type", "a text", kind)
        if kind is None or kind == CUSTOM:
            tools.append(_custom_tool(tool, where))
        else:
            name = tool.get("name")
            left_out[name if isinstance(name, str) else ""] = kind[:MAX_TYPE]
    checked = check_tools(tools)
    choice, is_parallel = _read_choice(body, checked, left_out)
    return ToolOptions(checked, choice, is_parallel, tuple(left_out.values()))


def _custom_tool(tool: Mapping[str, Any], where: str) -> dict[str, Any]:
    schema = read_object(tool, "input_schema", at=f"{where}.")
    if schema is None:
        raise type_error(f"{where}.input_schema", "an object", None)
    function = {
        "name": tool.get("name"),
        "description": tool.get("description"),
        "parameters": schema,
        "strict": tool.get("strict"),
    }
    return function_tool(function, where, MAX_NAME)


def _read_choice(
    body: Mapping[str, Any], tools: Tools, left_out: Mapping[str, str]
) -> tuple[str | Mapping[str, Any] | None, bool | None]:
    choice = read_object(body, "tool_choice")
    if choice is None:
        return None, None
    at = "tool_choice."
    is_single = read_bool(choice, "disable_parallel_tool_use", at=at)
    is_parallel = False if is_single and tools else None
    kind = choice.get("type")
    if kind == "tool":
        name = read_text(choice, "name", at=at)
        if name in left_out:
            raise InvalidInput(
                f"{at}name: no worker can use tools of type {left_out[name]!r}",
                param=f"{at}name",
            )
        return named_choice(name, tools, f"{at}name"), is_parallel
    word = CHOICES.get(kind) if isinstance(kind, str) else None
    if word is None:
        raise InvalidInput(
            f"{at}type: expected one of {', '.join((*CHOICES, 'tool'))}",
            param=f"{at}type",
        )
    if tools:
        return word, is_parallel
    if word == "required":
        why = "no worker can use these tools" if left_out else "there are no tools"
        raise InvalidInput(f"tool_choice: {why}", param="tool_choice")
    return None, None
