"""Functions in namespaces, which Responses has and no other protocol.

Codex sends the tools of each MCP server as one namespace. Here such a function has one
name, `namespace.name`; a plain function's name has no dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from apps.gateway.parsing.json_fields import read_text, type_error
from apps.gateway.parsing.tools import function_tool, read_name, require_function

NAMESPACE = "namespace"
DOT = "."


def read_namespace(tool: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """Return the functions of a namespace as tools. Raises: InvalidInput."""
    namespace = read_name(tool, where)
    functions = tool.get("tools")
    if not isinstance(functions, list):
        raise type_error(f"{where}.tools", "a list of functions", functions)
    tools = []
    for index, function in enumerate(functions):
        place = f"{where}.tools[{index}]"
        if not isinstance(function, dict):
            raise type_error(place, "an object", function)
        require_function(function, place)
        read = function_tool(function, place)
        read["function"]["name"] = f"{namespace}{DOT}{read['function']['name']}"
        tools.append(read)
    return tools


def read_called_name(item: Mapping[str, Any], where: str) -> str:
    """Return the name of the function that an item calls. Raises: InvalidInput."""
    name = read_text(item, "name", at=f"{where}.")
    if not name:
        raise type_error(f"{where}.name", "a name", name)
    if item.get(NAMESPACE) is None:
        return name
    return f"{read_text(item, NAMESPACE, at=f'{where}.')}{DOT}{name}"


def name_fields(name: str) -> dict[str, str]:
    """Return a function's name, and its namespace if it has one, as fields."""
    namespace, dot, inner = name.partition(DOT)
    return {"name": inner, NAMESPACE: namespace} if dot else {"name": name}


def told_namespaces(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tools in the words of Responses, those of a namespace together again."""
    told: list[dict[str, Any]] = []
    for namespace, group in groupby(tools, lambda tool: tool.get(NAMESPACE)):
        functions = [{k: v for k, v in f.items() if k != NAMESPACE} for f in group]
        if namespace is None:
            told += functions
        else:
            told.append({"type": NAMESPACE, "name": namespace, "tools": functions})
    return told
