"""Reads the field `input`: a text, or items, into messages of the engine.

Each item becomes one entry: a message, or a reference to an item of an earlier
response. Reasoning items are left out: they tell of a run's steps and mean nothing to a
model. So are items of providers' own tools (`foreign_items`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.ports import ImagePart, Message, TextPart
from apps.gateway.parsing.images import read_image
from apps.gateway.parsing.json_fields import read_text, type_error
from apps.gateway.parsing.messages import MAY_SHOW, ROLES, Role, joined, read_id
from apps.gateway.responses.foreign_items import FOREIGN_READERS
from apps.gateway.responses.ids import COMPACTION, REASONING, source_of_item
from apps.gateway.responses.namespaces import read_called_name

Content = str | list[TextPart | ImagePart]
TEXT_PARTS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "refusal": "refusal",
}
"""Parts that are text, and the field that holds it."""
UNUSABLE = {
    "input_file": "files are not supported",
    "input_audio": "audio is not supported",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """An item of an earlier response, named instead of repeated."""

    name: str
    kind: str
    """A prefix of `responses.ids`."""
    run_id: uuid.UUID
    index: int
    where: str
    """Where it stands in the request."""


Entry = Message | Reference


def read_input(body: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Return the field `input`. Raises: InvalidInput naming the place at fault."""
    given = body.get("input")
    if isinstance(given, str):
        return ({"role": "user", "content": given},)
    if not isinstance(given, list):
        raise type_error("input", "a text or a list of items", given)
    entries = [_read_item(item, f"input[{i}]") for i, item in enumerate(given)]
    return tuple(entry for entry in entries if entry is not None)


def _read_item(item: Any, where: str) -> Entry | None:
    if not isinstance(item, dict):
        raise type_error(where, "an object", item)
    kind = item.get("type") or "message"
    reader = READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise InvalidInput(
            f"{where}.type: expected one of {', '.join(READERS)}",
            param=f"{where}.type",
        )
    return reader(item, where)


# --- messages ------------------------------------------------------------------------


def _read_message(item: Mapping[str, Any], where: str) -> Message:
    name = item.get("role")
    role = ROLES.get(name) if isinstance(name, str) and name != "tool" else None
    if role is None:
        raise InvalidInput(
            f"{where}.role: expected one of user, assistant, system, developer",
            param=f"{where}.role",
        )
    content = _read_content(item.get("content"), role, f"{where}.content")
    return {"role": role, "content": content}


def _read_content(content: Any, role: Role, where: str) -> Content:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise type_error(where, "a text or a list of parts", content)
    return joined([_read_part(p, role, f"{where}[{i}]") for i, p in enumerate(content)])


def _read_part(part: Any, role: Role, where: str) -> TextPart | ImagePart:
    if not isinstance(part, dict):
        raise type_error(where, "an object", part)
    kind = part.get("type")
    field = TEXT_PARTS.get(kind) if isinstance(kind, str) else None
    if field is not None:
        return {"type": "text", "text": read_text(part, field, at=f"{where}.")}
    if kind == "input_image" and role in MAY_SHOW:
        return _read_image(part, where)
    why = UNUSABLE.get(kind) if isinstance(kind, str) else None
    if kind == "input_image":
        why = "only the user and tools may send images"
    expected = "expected a part of type input_text or input_image"
    raise InvalidInput(f"{where}: {why or expected}", param=where)


def _read_image(part: Mapping[str, Any], where: str) -> ImagePart:
    if part.get("file_id") is not None:
        raise InvalidInput(
            f"{where}.file_id: files are not supported; send image_url",
            param=f"{where}.file_id",
        )
    return read_image(part.get("image_url"), part.get("detail"), f"{where}.image_url")


# --- tools ---------------------------------------------------------------------------


def _read_call(item: Mapping[str, Any], where: str) -> Message:
    name = read_called_name(item, where)
    arguments = read_text(item, "arguments", at=f"{where}.")
    call_id = read_id(item, "call_id", where)
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
        ],
    }


def _read_result(item: Mapping[str, Any], where: str) -> Message:
    return {
        "role": "tool",
        "content": _read_content(item.get("output"), "tool", f"{where}.output"),
        "tool_call_id": read_id(item, "call_id", where),
    }


# --- what earlier responses said -----------------------------------------------------


def _read_reference(item: Mapping[str, Any], where: str) -> Reference | None:
    name = read_text(item, "id", at=f"{where}.")
    source = source_of_item(name)
    if source is None:
        raise unknown_item(name, where)
    kind, run_id, index = source
    return None if kind == REASONING else Reference(name, kind, run_id, index, where)


def _read_compaction(item: Mapping[str, Any], where: str) -> Reference:
    """Read what stands for a compacted conversation: it names the run that wrote it."""
    name = read_text(item, "encrypted_content", at=f"{where}.")
    source = source_of_item(name)
    if source is None or source[0] != COMPACTION:
        raise InvalidInput(
            f"{where}.encrypted_content: not the content of a compaction that was "
            "made here",
            param=f"{where}.encrypted_content",
        )
    kind, run_id, index = source
    return Reference(name, kind, run_id, index, where)


def unknown_item(name: str, where: str) -> InvalidInput:
    """Return the error for an item that no response of the caller has."""
    return InvalidInput(
        f"{where}.id: there is no item {name[:64]!r}", param=f"{where}.id"
    )


def _leave_out(item: Mapping[str, Any], where: str) -> None:
    return None


READERS: dict[str, Callable[[Mapping[str, Any], str], Entry | None]] = {
    "message": _read_message,
    "function_call": _read_call,
    "function_call_output": _read_result,
    "reasoning": _leave_out,
    "item_reference": _read_reference,
    "compaction": _read_compaction,
    **FOREIGN_READERS,
}
