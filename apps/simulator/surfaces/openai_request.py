"""Reads a chat completions request. Ignores unknown fields, refuses a broken shape.

Source: OpenAI API reference, chat completions; vLLM's `continue_final_message`.
"""

from __future__ import annotations

from typing import Any

from apps.simulator.pictures import Picture
from apps.simulator.request import (
    ChatMessage,
    Format,
    InvalidRequest,
    SimulatedRequest,
    SimulatedToolCall,
    Tool,
    check_calls,
    check_choice,
)
from apps.simulator.surfaces import fields

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def read(body: bytes) -> SimulatedRequest:
    """Return the request in `body`. Raises: BadRequest."""
    data = fields.load(body)
    model = fields.model_name(data)
    messages = _messages(data.get("messages"))
    check_calls(messages)
    begun, messages = _begun(data, messages)
    tools = _tools(data.get("tools"))
    choice = _choice(data.get("tool_choice"))
    check_choice(tools, choice)
    options = data.get("stream_options")
    return SimulatedRequest(
        model=model,
        messages=messages,
        begun=begun,
        is_streamed=data.get("stream") is True,
        includes_usage=isinstance(options, dict)
        and options.get("include_usage") is True,
        max_tokens=_max_tokens(data),
        stop=fields.texts(data.get("stop"), "stop"),
        format=_format(data.get("response_format")),
        schema=_schema(data.get("response_format")),
        tools=tools,
        tool_choice=choice,
        is_parallel=data.get("parallel_tool_calls") is not False,
    )


def _messages(value: Any) -> tuple[ChatMessage, ...]:
    if not isinstance(value, list) or not value:
        raise InvalidRequest(
            "messages must be a list of at least one message", "messages"
        )
    return tuple(_message(item, f"messages[{n}]") for n, item in enumerate(value))


def _message(item: Any, place: str) -> ChatMessage:
    role = ROLES.get(str(item.get("role"))) if isinstance(item, dict) else None
    if role is None:
        raise InvalidRequest("each message needs a role", f"{place}.role")
    text, pictures = _content(item.get("content"), f"{place}.content")
    if pictures and role == "tool":
        raise InvalidRequest("the result of a tool is text here", f"{place}.content")
    calls = fields.objects(item.get("tool_calls"), f"{place}.tool_calls")
    if calls and role != "assistant":
        raise InvalidRequest("only assistants call tools", f"{place}.tool_calls")
    answers = item.get("tool_call_id") if role == "tool" else ""
    return ChatMessage(
        role,
        text,
        pictures,
        tuple(_call(c, f"{place}.tool_calls[{n}]") for n, c in enumerate(calls)),
        fields.text(answers, f"{place}.tool_call_id"),
    )


def _content(value: Any, place: str) -> tuple[str, tuple[Picture, ...]]:
    if value is None:  # an assistant message that only called tools
        return "", ()
    if isinstance(value, str):
        return value, ()
    if not isinstance(value, list):
        raise InvalidRequest("content must be a string or a list of parts", place)
    texts: list[str] = []
    pictures: list[Picture] = []
    for number, part in enumerate(fields.objects(value, place)):
        at = f"{place}[{number}]"
        if part.get("type") == "text":
            texts.append(fields.text(part.get("text"), f"{at}.text"))
        elif part.get("type") == "image_url":
            image = part.get("image_url")
            url = image.get("url") if isinstance(image, dict) else None
            pictures.append(fields.picture_at(url, f"{at}.image_url.url"))
        else:
            raise InvalidRequest("a part is text or image_url here", f"{at}.type")
    return "\n".join(texts), tuple(pictures)


def _call(item: dict[str, Any], place: str) -> SimulatedToolCall:
    function = item.get("function")
    if not isinstance(function, dict):
        raise InvalidRequest("a tool call names a function", f"{place}.function")
    return SimulatedToolCall(
        fields.text(function.get("name"), f"{place}.function.name"),
        fields.text(function.get("arguments"), f"{place}.function.arguments"),
        fields.text(item.get("id"), f"{place}.id"),
    )


def _begun(
    data: dict[str, Any], messages: tuple[ChatMessage, ...]
) -> tuple[str, tuple[ChatMessage, ...]]:
    """Return the answer's beginning and the messages without it, as vLLM reads them."""
    if data.get("continue_final_message") is not True:
        return "", messages
    if data.get("add_generation_prompt") is not False:
        raise InvalidRequest(
            "continue_final_message needs add_generation_prompt to be false",
            "add_generation_prompt",
        )
    if messages[-1].role != "assistant" or not messages[-1].text:
        raise InvalidRequest("there is no final assistant message", "messages")
    return messages[-1].text, messages[:-1]


def _tools(value: Any) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    for number, item in enumerate(fields.objects(value, "tools")):
        place = f"tools[{number}]"
        function = item.get("function")
        if item.get("type") != "function" or not isinstance(function, dict):
            raise InvalidRequest("a tool is a function here", f"{place}.type")
        tools.append(fields.tool(function, "parameters", f"{place}.function"))
    return tuple(tools)


def _choice(value: Any) -> str:
    if value is None:
        return "auto"
    if value in ("auto", "none", "required"):
        return str(value)
    function = value.get("function") if isinstance(value, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return "=" + fields.text(name, "tool_choice")


def _max_tokens(data: dict[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        if data.get(name) is not None:
            return fields.whole_number(data[name], name)
    return None


def _format(value: Any) -> Format:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "json_object":
        return "json_object"
    return "json_schema" if kind == "json_schema" else "text"


def _schema(value: Any) -> dict[str, Any] | None:
    outer = value.get("json_schema") if isinstance(value, dict) else None
    schema = outer.get("schema") if isinstance(outer, dict) else None
    return schema if isinstance(schema, dict) else None
