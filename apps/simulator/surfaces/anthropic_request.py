"""Reads an Anthropic messages request, as strictly as the provider does.

Source: Anthropic API reference, messages, tool use and prefill.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from apps.simulator.pictures import Picture
from apps.simulator.request import (
    ChatMessage,
    InvalidRequest,
    SimulatedRequest,
    SimulatedToolCall,
    Tool,
    check_calls,
    check_choice,
)
from apps.simulator.surfaces import fields

ID = re.compile(r"[a-zA-Z0-9_-]+")
CHOICES = {"auto": "auto", "none": "none", "any": "required"}


def read(body: bytes) -> SimulatedRequest:
    """Return the request in `body`. Raises: BadRequest."""
    data = fields.load(body)
    model = fields.model_name(data)
    max_tokens = fields.whole_number(data.get("max_tokens"), "max_tokens")
    if max_tokens is None:
        raise InvalidRequest("Field required", "max_tokens")
    _check_temperature(data.get("temperature"))
    messages = (*_system(data.get("system")), *_messages(data.get("messages")))
    check_calls(messages)
    begun = _begun(messages)
    tools = tuple(_tool(t, n) for n, t in enumerate(_list(data, "tools")))
    choice = _choice(data.get("tool_choice"))
    check_choice(tools, choice)
    schema = _schema(data)
    return SimulatedRequest(
        model=model,
        messages=messages[:-1] if begun else messages,
        begun=begun,
        is_streamed=data.get("stream") is True,
        includes_usage=True,
        max_tokens=max_tokens,
        stop=fields.texts(data.get("stop_sequences"), "stop_sequences"),
        format="text" if schema is None else "json_schema",
        schema=schema,
        tools=tools,
        tool_choice=choice,
        is_parallel=_is_parallel(data.get("tool_choice")),
    )


def _list(data: dict[str, Any], name: str) -> list[Any]:
    return fields.objects(data.get(name), name)


def _check_temperature(value: Any) -> None:
    if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise InvalidRequest("range: 0..1", "temperature")


def _system(value: Any) -> tuple[ChatMessage, ...]:
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (ChatMessage("system", value),)
    blocks = fields.objects(value, "system")
    texts = (_text(b, f"system.{n}") for n, b in enumerate(blocks))
    return (ChatMessage("system", "\n".join(texts)),)


# --- messages -------------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """What the blocks of one message amount to."""

    texts: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    calls: list[SimulatedToolCall] = field(default_factory=list)
    results: list[ChatMessage] = field(default_factory=list)


def _messages(value: Any) -> tuple[ChatMessage, ...]:
    items = fields.objects(value, "messages", may_be_empty=False)
    messages: list[ChatMessage] = []
    for number, item in enumerate(items):
        place = f"messages.{number}"
        role = item.get("role")
        if role not in ("user", "assistant"):
            raise InvalidRequest(
                "Input should be 'user' or 'assistant'", f"{place}.role"
            )
        is_last = number == len(items) - 1
        turn = _turn(item.get("content"), role, place)
        messages += turn.results
        is_empty = not (turn.texts or turn.pictures or turn.calls or turn.results)
        if is_empty and not (is_last and role == "assistant"):
            raise InvalidRequest("all messages must have non-empty content", place)
        if turn.texts or turn.pictures or turn.calls:
            text = "\n".join(turn.texts)
            pictures, calls = tuple(turn.pictures), tuple(turn.calls)
            messages.append(ChatMessage(role, text, pictures, calls))
    return tuple(messages)


def _turn(content: Any, role: str, place: str) -> _Turn:
    turn = _Turn()
    if isinstance(content, str):
        turn.texts += [content] * bool(content)
        return turn
    for number, block in enumerate(fields.objects(content, f"{place}.content")):
        _read_block(turn, block, role, f"{place}.content.{number}")
    return turn


def _read_block(turn: _Turn, block: dict[str, Any], role: str, place: str) -> None:
    match block.get("type"), role:
        case "text", _:
            turn.texts.append(_text(block, place))
        case "image", "user":
            turn.pictures.append(_picture(block.get("source"), place))
        case "tool_result", "user":
            if turn.texts or turn.pictures:
                raise InvalidRequest("tool_result blocks must come first", place)
            turn.results.append(_result(block, place))
        case "tool_use", "assistant":
            turn.calls.append(_call(block, place))
        case (("thinking" | "redacted_thinking"), "assistant"):
            pass  # a model's own thoughts come back; they change nothing here
        case _:
            raise InvalidRequest(f"no such block of a {role}", f"{place}.type")


def _text(block: dict[str, Any], place: str) -> str:
    text = fields.text(block.get("text"), f"{place}.text")
    if not text.strip():
        raise InvalidRequest("text content blocks must be non-empty", place)
    return text


def _picture(source: Any, place: str) -> Picture:
    match source:
        case {"type": "base64", "media_type": media_type, "data": data}:
            return fields.picture_in(media_type, data, f"{place}.source")
        case {"type": "url", "url": url}:
            return fields.picture_at(url, f"{place}.source.url")
    raise InvalidRequest("expected a base64 or url source", f"{place}.source")


def _result(block: dict[str, Any], place: str) -> ChatMessage:
    answers = fields.text(block.get("tool_use_id"), f"{place}.tool_use_id")
    inner = _turn(block.get("content") or [], "user", place)
    text = "\n".join(inner.texts)
    return ChatMessage("tool", text, tuple(inner.pictures), answers=answers)


def _call(block: dict[str, Any], place: str) -> SimulatedToolCall:
    name = fields.text(block.get("name"), f"{place}.name")
    identity = fields.text(block.get("id"), f"{place}.id")
    if not ID.fullmatch(identity):
        raise InvalidRequest(
            f"String should match pattern {ID.pattern!r}", f"{place}.id"
        )
    if not isinstance(block.get("input"), dict):
        raise InvalidRequest("Input should be a valid dictionary", f"{place}.input")
    return SimulatedToolCall(name, orjson.dumps(block["input"]).decode(), identity)


def _begun(messages: tuple[ChatMessage, ...]) -> str:
    """Return the beginning of the answer: a last message of the assistant's."""
    if messages[-1].role != "assistant":
        return ""
    text = messages[-1].text
    if text != text.rstrip():
        raise InvalidRequest(
            "final assistant content cannot end with trailing whitespace", "messages"
        )
    return text


# --- tools and format -----------------------------------------------------------------


def _tool(value: dict[str, Any], number: int) -> Tool:
    place = f"tools.{number}"
    if value.get("type", "custom") != "custom":
        raise InvalidRequest("only custom tools exist here", f"{place}.type")
    if not isinstance(value.get("input_schema"), dict):
        raise InvalidRequest("Field required", f"{place}.input_schema")
    if value["input_schema"].get("type") != "object":
        raise InvalidRequest("Input should be 'object'", f"{place}.input_schema.type")
    return fields.tool(value, "input_schema", place)


def _choice(value: Any) -> str:
    match value:
        case None:
            return "auto"
        case {"type": "tool", "name": str(name)}:
            return f"={name}"
        case {"type": str(kind)} if kind in CHOICES:
            return CHOICES[kind]
    raise InvalidRequest("expected auto, any, none or a tool", "tool_choice")


def _is_parallel(choice: Any) -> bool:
    is_alone = isinstance(choice, dict) and choice.get("disable_parallel_tool_use")
    return is_alone is not True


def _schema(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of `output_config.format`, or of its older name."""
    config = data.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    match wanted or data.get("output_format"):
        case {"type": "json_schema", "schema": dict(schema)}:
            return schema
        case None:
            return None
    raise InvalidRequest("expected a json_schema format", "output_config.format")
