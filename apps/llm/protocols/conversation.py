"""Chat completions' messages as turns, for protocols that want a strict order.

Guarantees turns that alternate and begin with the user's, no empty parts, and the
results of tools before everything else, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from apps.llm.errors import BadRequest
from apps.llm.protocols.json_values import object_in, objects_in

BEGINNING = "(The conversation begins with the answer.)"
"""The first turn of the user in a conversation that begins with another."""


@dataclass(frozen=True, slots=True)
class WrittenText:
    """The text of a turn; never empty."""

    text: str
    cache_control: Mapping[str, Any] | None = None
    """The mark behind which a provider shall cache; None: there is none."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes, or where it lies."""

    media_type: str = ""
    """Empty: unknown."""
    data: str = field(default="", repr=False)
    """Base64. Empty: it lies at `url`."""
    url: str = ""
    cache_control: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a model wanted called."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call brought."""

    call_id: str
    parts: tuple[WrittenText | Image, ...]


Part = WrittenText | Image | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class MessageTurn:
    """All that one side says before the other one does."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class StrictConversation:
    """A whole conversation."""

    system_parts: tuple[WrittenText, ...]
    """What system messages say, wherever they stood."""
    turns: tuple[MessageTurn, ...]

    @property
    def system(self) -> str:
        """Return the system messages as one text."""
        return "\n\n".join(part.text for part in self.system_parts)

    @property
    def tool_names(self) -> dict[str, str]:
        """Return the function's name by the id of each call."""
        parts = (part for turn in self.turns for part in turn.parts)
        return {part.id: part.name for part in parts if isinstance(part, ToolUse)}


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> StrictConversation:
    """Return `messages` as turns. Raises: BadRequest naming what cannot be read."""
    system: list[WrittenText] = []
    turns: list[tuple[Literal["user", "assistant"], list[Part]]] = []
    for place, message in enumerate(messages):
        role = message.get("role")
        parts = _parts(f"messages[{place}]", message)
        if role in ("system", "developer"):
            system += [part for part in parts if isinstance(part, WrittenText)]
            continue
        side: Literal["user", "assistant"] = (
            "assistant" if role == "assistant" else "user"
        )
        if turns and turns[-1][0] == side:
            turns[-1][1].extend(parts)
        elif parts:
            turns.append((side, parts))
    if not turns and system:  # chat completions allow it; elsewhere somebody must ask
        text = "\n\n".join(part.text for part in system)
        return StrictConversation((), (MessageTurn("user", (WrittenText(text),)),))
    if turns and turns[0][0] == "assistant":
        turns.insert(0, ("user", [WrittenText(BEGINNING)]))
    return StrictConversation(tuple(system), _ordered(turns))


def _ordered(
    turns: Iterable[tuple[Literal["user", "assistant"], list[Part]]],
) -> tuple[MessageTurn, ...]:
    order: dict[str, int] = {}  # of the calls so far
    ordered = []
    for side, parts in turns:
        for part in parts:
            if isinstance(part, ToolUse):
                order.setdefault(part.id, len(order))
        results = [part for part in parts if isinstance(part, ToolResult)]
        results.sort(key=lambda result: order.get(result.call_id, len(order)))
        rest = [part for part in parts if not isinstance(part, ToolResult)]
        ordered.append(MessageTurn(side, (*results, *rest)))
    return tuple(ordered)


def _parts(place: str, message: Mapping[str, Any]) -> list[Part]:
    content = _content(f"{place}.content", message.get("content"))
    if message.get("role") == "tool":
        return [ToolResult(str(message.get("tool_call_id", "")), tuple(content))]
    return [*content, *map(_tool_use, objects_in(message.get("tool_calls")))]


def _content(place: str, content: Any) -> list[WrittenText | Image]:
    if not content:
        return []
    if isinstance(content, str):
        return [WrittenText(content)]
    if not isinstance(content, list):
        raise BadRequest(f"{place} is neither a text nor a list of parts")
    parts = [_part(f"{place}[{i}]", part) for i, part in enumerate(content)]
    return [part for part in parts if not isinstance(part, WrittenText) or part.text]


def _part(place: str, part: Any) -> WrittenText | Image:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text":
        return WrittenText(str(part.get("text", "")), part.get("cache_control"))
    if kind == "image_url":
        return _image(place, part)
    raise BadRequest(f"{place} is neither a text nor an image")


def _image(place: str, part: Mapping[str, Any]) -> Image:
    url = str(object_in(part, "image_url").get("url", ""))
    if not url.startswith("data:"):
        return Image(url=url, cache_control=part.get("cache_control"))
    head, comma, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.partition(";")
    if not comma or encoding.lower() != "base64":
        raise BadRequest(f"{place}.image_url.url is no base64 data: URL")
    mark = part.get("cache_control")
    return Image(media_type.lower(), data, cache_control=mark)


def _tool_use(call: dict[str, Any]) -> ToolUse:
    function = object_in(call, "function")
    text = str(function.get("arguments") or "{}")
    return ToolUse(str(call.get("id", "")), str(function.get("name", "")), _read(text))


def _read(text: str) -> Mapping[str, Any]:
    """Return arguments as an object; what a model wrote need not be one."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    return value if isinstance(value, dict) else {"arguments": text}
