"""Items of a conversation that tell of tools which are not functions of the caller.

Clients keep them in their history, wherever the tool ran. Calls that have a result item
of their own become calls of a function of that name, so that the turns stay in order;
what a provider ran by itself is left out, because its result is no part of the item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apps.core.errors import InvalidInput
from apps.engine.ports import Message
from apps.gateway.parsing.json_fields import read_object, read_text, type_error
from apps.gateway.parsing.messages import read_id

ItemReader = Callable[[Mapping[str, Any], str], Message | None]
LEFT_OUT = (
    "code_interpreter_call",
    "context_compaction",
    "file_search_call",
    "ghost_snapshot",
    "image_generation_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
)
"""Items that a provider's own tools leave in a conversation."""
DETAILS = {
    "apply_patch_call": "operation",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
}
"""Calls with a result of their own, and the field that says what was asked."""


def _call(item: Mapping[str, Any], where: str, name: str, arguments: Any) -> Message:
    try:
        text = orjson.dumps(arguments).decode()
    except orjson.JSONEncodeError as exc:
        raise InvalidInput(f"{where}: nested too deeply", param=where) from exc
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": read_id(item, "call_id", where),
                "type": "function",
                "function": {"name": name, "arguments": text},
            }
        ],
    }


def _read_custom_call(item: Mapping[str, Any], where: str) -> Message:
    name = read_text(item, "name", at=f"{where}.")
    if not name:
        raise type_error(f"{where}.name", "a name", name)
    given = read_text(item, "input", at=f"{where}.")
    return _call(item, where, name, {"input": given})


def _call_reader(kind: str, detail: str) -> ItemReader:
    name = kind.removesuffix("_call")

    def read(item: Mapping[str, Any], where: str) -> Message:
        asked = read_object(item, detail, at=f"{where}.") or {}
        return _call(item, where, name, asked)

    return read


def _read_output(item: Mapping[str, Any], where: str) -> Message:
    """Read a result: a text, or whatever JSON the tool answers with."""
    output = item.get("output")
    text = output if isinstance(output, str) else _plain_text(output, where)
    name = "call_id" if item.get("call_id") is not None else "id"
    return {"role": "tool", "content": text, "tool_call_id": read_id(item, name, where)}


def _plain_text(output: Any, where: str) -> str:
    if isinstance(output, list):
        texts = [part.get("text") for part in output if isinstance(part, dict)]
        if len(texts) == len(output) and all(isinstance(text, str) for text in texts):
            return "".join(text for text in texts if isinstance(text, str))
    try:
        return orjson.dumps(output).decode()
    except orjson.JSONEncodeError as exc:
        place = f"{where}.output"
        raise InvalidInput(f"{place}: nested too deeply", param=place) from exc


def _leave_out(item: Mapping[str, Any], where: str) -> None:
    return None


FOREIGN_READERS: dict[str, ItemReader] = {
    "custom_tool_call": _read_custom_call,
    "custom_tool_call_output": _read_output,
    **{kind: _call_reader(kind, detail) for kind, detail in DETAILS.items()},
    **{f"{kind}_output": _read_output for kind in DETAILS},
    **dict.fromkeys(LEFT_OUT, _leave_out),
}
