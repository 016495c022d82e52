"""`GET /v1/responses/{id}/input_items`: what a response was asked, as items.

The conversation that `previous_response_id` brought in is part of it; instructions are
not. An item's id says where it stands, so it is the cursor of the next page as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.ports import Message
from apps.gateway.output import COMPLETED
from apps.gateway.responses.items import Document, text_part
from apps.gateway.responses.namespaces import name_fields
from apps.gateway.responses.previous_response import said_before
from apps.runs.types import RunRecord

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
ORDERS = ("desc", "asc")


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of the list is wanted."""

    limit: int
    after: str
    """Id of the last item of the page before. Empty: from the beginning."""
    is_ascending: bool


def read_paging(query: Mapping[str, str]) -> Paging:
    """Return the page a query asks for. Raises: InvalidInput naming the field."""
    text = query.get("limit", str(DEFAULT_LIMIT))
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LIMIT))
    if not is_number or not 1 <= int(text) <= MAX_LIMIT:
        raise InvalidInput(
            f"limit: expected a number from 1 to {MAX_LIMIT}", param="limit"
        )
    order = query.get("order", ORDERS[0])
    if order not in ORDERS:
        raise InvalidInput(f"order: expected one of {', '.join(ORDERS)}", param="order")
    return Paging(int(text), query.get("after", ""), order == "asc")


def input_page(record: RunRecord, paging: Paging) -> Document:
    """Return one page of the items of a response's input.

    Raises: InvalidInput if `after` names none of them.
    """
    items = input_items(record)
    if not paging.is_ascending:
        items.reverse()
    if paging.after:
        ids = [item["id"] for item in items]
        if paging.after not in ids:
            raise InvalidInput(
                f"after: there is no item {paging.after[:64]!r}", param="after"
            )
        items = items[ids.index(paging.after) + 1 :]
    page = items[: paging.limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(items) > len(page),
    }


def input_items(record: RunRecord) -> list[Document]:
    """Return all items of a response's input, in order."""
    items: list[Document] = []
    for message in said_before(record):
        for item in items_of(message):
            item["id"] = f"{_prefix(item)}_{record.run_id.hex}in{len(items):02d}"
            items.append(item)
    return items


def _prefix(item: Document) -> str:
    kinds = {"function_call": "fc", "function_call_output": "fco"}
    return kinds.get(item["type"], "msg")


def items_of(message: Message) -> list[Document]:
    """Return a message as items, without ids."""
    if message["role"] == "tool":
        return [
            {
                "type": "function_call_output",
                "status": COMPLETED,
                "call_id": message.get("tool_call_id", ""),
                "output": message["content"],
            }
        ]
    said = [_said(message)] if message["content"] else []
    return said + [
        {
            "type": "function_call",
            "status": COMPLETED,
            "call_id": call["id"],
            **call["function"],
            **name_fields(call["function"]["name"]),
        }
        for call in message.get("tool_calls", ())
    ]


def _said(message: Message) -> Document:
    content = message["content"]
    parts: list[Any] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    is_ours = message["role"] == "assistant"
    return {
        "type": "message",
        "role": message["role"],
        "status": COMPLETED,
        "content": [_part(part, is_ours=is_ours) for part in parts],
    }


def _part(part: Any, *, is_ours: bool) -> Document:
    if part["type"] == "image_url":
        image = part["image_url"]
        return {
            "type": "input_image",
            "image_url": image["url"],
            "detail": image.get("detail", "auto"),
        }
    if is_ours:
        return text_part(part["text"])
    return {"type": "input_text", "text": part["text"]}
