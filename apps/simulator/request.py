"""Reads the body of a chat request. Ignores unknown fields, refuses a broken shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import orjson

Format = Literal["text", "json_object", "json_schema"]


class BadRequest(ValueError):
    """The body is no chat request."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        """The field at fault, if one is."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message with its text parts joined."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What the simulator heeds of a chat request."""

    model: str
    messages: tuple[ChatMessage, ...]
    is_streamed: bool = False
    includes_usage: bool = False
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    format: Format = "text"
    schema: dict[str, Any] | None = None
    """The JSON schema the answer is to follow, if one is given."""

    @property
    def last_user_text(self) -> str:
        """Return the text of the last user message, or of the last one of all."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return self.messages[-1].text

    @property
    def all_text(self) -> str:
        """Return the texts of all messages, in order."""
        return "\n".join(message.text for message in self.messages)


def read(body: bytes) -> ChatRequest:
    """Return the request in `body`. Raises: BadRequest."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise BadRequest("the body is not valid JSON") from exc
    if not isinstance(data, dict):
        raise BadRequest("the body must be a JSON object")
    model = data.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("you must name a model", "model")
    options = data.get("stream_options")
    return ChatRequest(
        model=model,
        messages=_messages(data.get("messages")),
        is_streamed=data.get("stream") is True,
        includes_usage=isinstance(options, dict)
        and options.get("include_usage") is True,
        max_tokens=_max_tokens(data),
        stop=_stop(data.get("stop")),
        format=_format(data.get("response_format")),
        schema=_schema(data.get("response_format")),
    )


def _messages(value: Any) -> tuple[ChatMessage, ...]:
    if not isinstance(value, list) or not value:
        raise BadRequest("messages must be a list of at least one message", "messages")
    return tuple(_message(item, index) for index, item in enumerate(value))


def _message(item: Any, index: int) -> ChatMessage:
    if not isinstance(item, dict) or not isinstance(item.get("role"), str):
        raise BadRequest("each message needs a role", f"messages[{index}].role")
    content = item.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(text for text in texts if isinstance(text, str))
    if content is None:
        content = ""  # an assistant message that only called tools
    if not isinstance(content, str):
        raise BadRequest(
            "content must be a string or a list of parts", f"messages[{index}].content"
        )
    return ChatMessage(item["role"], content)


def _max_tokens(data: dict[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = data.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadRequest(f"{name} must be a whole number from 1", name)
        return value
    return None


def _stop(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise BadRequest("stop must be a string or a list of strings", "stop")
    return tuple(text for text in values if text)


def _format(value: Any) -> Format:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "json_object":
        return "json_object"
    return "json_schema" if kind == "json_schema" else "text"


def _schema(value: Any) -> dict[str, Any] | None:
    outer = value.get("json_schema") if isinstance(value, dict) else None
    schema = outer.get("schema") if isinstance(outer, dict) else None
    return schema if isinstance(schema, dict) else None
