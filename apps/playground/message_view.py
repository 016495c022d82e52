"""Recorded messages as pages show them: texts, images by name, calls of tools.

An image is never loaded: neither from a foreign address, which would tell its owner who
reads the page, nor from the entry. Its address or its type and size stand for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.template.defaultfilters import filesizeformat

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?[^,]{0,200},")
_BYTES_OF_FOUR = 3
"""Four characters of base64 hold three bytes."""


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool that a model wants called."""

    id: str
    name: str
    arguments: str
    """As the model wrote them."""


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A piece of a message: a text, or what stands for an image."""

    text: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message."""

    role: str
    parts: tuple[ShownPart, ...]
    calls: tuple[ShownCall, ...] = ()
    answers: str = ""
    """Of a tool's result: the id of the call it answers."""


def shown_messages(recorded: str) -> list[ShownMessage]:
    """Return messages from their record, a JSON array; nothing if it was erased."""
    return [_message(each) for each in orjson.loads(recorded or "[]")]


def shown_calls(recorded: str | Sequence[Mapping[str, Any]]) -> tuple[ShownCall, ...]:
    """Return tool calls from their record, a JSON array; nothing if it was erased."""
    calls = orjson.loads(recorded or "[]") if isinstance(recorded, str) else recorded
    return tuple(
        ShownCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in calls
    )


def shown_images(messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what stands for each image of a conversation, in order."""
    parts = (part for message in messages for part in _parts(message["content"]))
    return tuple(part.image for part in parts if part.image)


def image_words(url: str) -> str:
    """Return what stands for an image: its type and size, its digest or address."""
    if found := _DATA_URL.match(url):
        filled = len(url) - found.end() - url[-2:].count("=")
        length = filled * _BYTES_OF_FOUR // 4
        return f"{found['type'] or 'image'}, {filesizeformat(length)}"
    return url


def _message(message: Mapping[str, Any]) -> ShownMessage:
    return ShownMessage(
        message["role"],
        tuple(_parts(message["content"])),
        shown_calls(message.get("tool_calls", ())),
        message.get("tool_call_id", ""),
    )


def _parts(content: str | Sequence[Mapping[str, Any]]) -> list[ShownPart]:
    if isinstance(content, str):
        return [ShownPart(text=content)] if content else []
    return [
        ShownPart(text=part["text"])
        if part["type"] == "text"
        else ShownPart(image=image_words(part["image_url"]["url"]))
        for part in content
    ]
