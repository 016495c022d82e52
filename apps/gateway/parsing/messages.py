"""Reads the messages of a chat completion into the engine's; checks a conversation.

`settle` is for every way of asking: it says what a run's prompt and messages are, and
refuses a conversation that no worker could answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from apps.core.errors import InvalidInput, PromptTooLong
from apps.engine.extra_params import CACHE_CONTROL, has_cache_marks
from apps.engine.messages import images_of, question_of, text_of
from apps.engine.ports import (
    FunctionCall,
    ImagePart,
    Message,
    Messages,
    TextPart,
    ToolCallPart,
)
from apps.gateway.parsing.extra_params import read_cache_control
from apps.gateway.parsing.images import check_images, read_image
from apps.gateway.parsing.json_fields import read_object, read_text, type_error

Role = Literal["system", "user", "assistant", "tool"]
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MAY_SHOW = ("user", "tool")
"""Whose messages may hold images."""
UNUSABLE = {
    "input_audio": "audio is not supported",
    "file": "files are not supported",
    "audio": "audio is not supported",
}
"""Content parts that clients send and we cannot use, with the error message."""
MAX_ID = 256
"""Characters of a tool call's id."""


@dataclass(frozen=True, slots=True)
class ParsedMessages:
    """What is asked, in both forms that a run needs."""

    prompt: str
    messages: Messages
    """Empty: there is nothing but the prompt."""
    has_cache_marks: bool = False
    """True: parts of the messages are marked for a provider's cache."""


def read_messages(body: Mapping[str, Any], max_bytes: int) -> ParsedMessages:
    """Return the field `messages`. Raises: InvalidInput naming the place at fault."""
    given = body.get("messages")
    if not isinstance(given, list):
        raise type_error("messages", "a list of messages", given)
    if len(given) == 1 and (text := _plain_text(given[0])):
        check_text(text, max_bytes, "messages")
        return ParsedMessages(text, ())
    messages = tuple(
        [
            _spoken(message) or _read_message(message, f"messages[{index}]")
            for index, message in enumerate(given)
        ]
    )
    return settle(messages, max_bytes, "messages", is_as_sent=True)


def _plain_text(message: Any) -> str:
    """Return the text of a user's message that is nothing else: most requests."""
    if type(message) is not dict or message.get("role") != "user":
        return ""
    text = message.get("content")
    return text if type(text) is str and text.strip() else ""


def settle(
    messages: Messages, max_bytes: int, where: str, *, is_as_sent: bool = False
) -> ParsedMessages:
    """Check a conversation that stands at `where`, and return what a run takes of it.

    `is_as_sent`: the request has these very messages, so one can be named by its
    number. Raises: InvalidInput.
    """
    if not any(_asks(message) for message in messages):
        raise InvalidInput(
            f"{where}: at least one message of the user with text or an image is "
            "required",
            param=where,
        )
    _check_tool_results(messages, where, is_as_sent=is_as_sent)
    check_images(images_of(messages), where)
    prompt = question_of(messages)
    check_text(prompt, max_bytes, where)
    is_plain = len(messages) == 1 and isinstance(messages[0]["content"], str)
    if is_plain:
        return ParsedMessages(prompt, ())
    return ParsedMessages(prompt, messages, has_cache_marks(messages))


def check_text(prompt: str, max_bytes: int, where: str) -> None:
    """Check that a run can take a prompt. Raises: InvalidInput."""
    if "\x00" in prompt:
        raise InvalidInput(f"{where}: the text holds a NUL character", param=where)
    size = len(prompt.encode())
    if size > max_bytes:
        raise PromptTooLong(
            f"{where}: together {size} bytes of text, at most {max_bytes} are allowed",
            param=where,
        )


def _asks(message: Message) -> bool:
    if message["role"] != "user":
        return False
    return bool(text_of(message).strip() or images_of((message,)))


def _check_tool_results(messages: Messages, where: str, *, is_as_sent: bool) -> None:
    """Check that every call has its result right after it, and every result a call."""
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = message.get("tool_call_id", "")
            if call_id not in waiting:
                place = f"{where}[{index}].tool_call_id" if is_as_sent else where
                raise InvalidInput(
                    f"{place}: there is no tool call {call_id[:MAX_ID]!r} before it "
                    "that waits for a result",
                    param=place,
                )
            waiting.discard(call_id)
            continue
        if waiting:
            break
        calls = message.get("tool_calls", ())
        waiting = {call["id"] for call in calls}
        if len(waiting) < len(calls):
            place = f"{where}[{index}].tool_calls" if is_as_sent else where
            raise InvalidInput(f"{place}: two tool calls have one id", param=place)
    if waiting:
        raise InvalidInput(
            f"{where}: the tool call {min(waiting)!r} has no result right after it",
            param=where,
        )


# --- one message ---------------------------------------------------------------------

SPOKEN: dict[Any, Role] = {name: role for name, role in ROLES.items() if name != "tool"}
CALLS = ("tool_calls", "function_call")


def _spoken(given: Any) -> Message | None:
    """Return a message that is a text and nothing else: most of them."""
    if type(given) is not dict or type(given.get("role")) is not str:
        return None
    role, content = SPOKEN.get(given["role"]), given.get("content")
    if role is None or type(content) is not str:
        return None
    if role == "assistant" and not given.keys().isdisjoint(CALLS):
        return None
    return {"role": role, "content": content}


def _read_message(given: Any, where: str) -> Message:
    if not isinstance(given, dict):
        raise type_error(where, "an object", given)
    name = given.get("role")
    if name == "function":
        raise InvalidInput(
            f"{where}.role: functions are not supported any more; use tools",
            param=f"{where}.role",
        )
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise InvalidInput(
            f"{where}.role: expected one of {', '.join(ROLES)}", param=f"{where}.role"
        )
    message: Message = {
        "role": role,
        "content": _read_content(given, role, f"{where}.content"),
    }
    if role == "assistant":
        _add_calls(message, given, where)
    elif role == "tool":
        message["tool_call_id"] = read_id(given, "tool_call_id", where)
    return message


def _read_content(
    given: Mapping[str, Any], role: Role, where: str
) -> str | list[TextPart | ImagePart]:
    content = given.get("content")
    if isinstance(content, str):
        return content
    if content is None and role == "assistant":
        refusal = given.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    if not isinstance(content, list):
        raise type_error(where, "a text or a list of parts", content)
    parts = [_read_part(p, role, f"{where}[{i}]") for i, p in enumerate(content)]
    return joined(parts)


def joined(
    parts: Sequence[TextPart | ImagePart],
) -> str | list[TextPart | ImagePart]:
    """Return content without an image or a cache mark as one text."""
    if any(part["type"] == "image_url" or CACHE_CONTROL in part for part in parts):
        return list(parts)
    return "".join(cast(TextPart, part)["text"] for part in parts)


def _read_part(part: Any, role: Role, where: str) -> TextPart | ImagePart:
    if not isinstance(part, dict):
        raise type_error(where, "an object", part)
    kind = part.get("type")
    if kind == "text" or (kind == "refusal" and role == "assistant"):
        text = TextPart(type="text", text=read_text(part, kind, at=f"{where}."))
        if part.get(CACHE_CONTROL) is not None:
            text["cache_control"] = read_cache_control(part, at=f"{where}.")
        return text
    if kind == "image_url" and role in MAY_SHOW:
        image = read_object(part, "image_url", at=f"{where}.")
        if image is None:
            raise type_error(f"{where}.image_url", "an object", None)
        place = f"{where}.image_url.url"
        read = read_image(image.get("url"), image.get("detail"), place)
        if part.get(CACHE_CONTROL) is not None:
            read["cache_control"] = read_cache_control(part, at=f"{where}.")
        return read
    why = UNUSABLE.get(kind) if isinstance(kind, str) else None
    if kind == "image_url":
        why = "only the user and tools may send images"
    raise InvalidInput(f"{where}: {why or 'expected a part of type text'}", param=where)


# --- tool calls ----------------------------------------------------------------------


def _add_calls(message: Message, given: Mapping[str, Any], where: str) -> None:
    if given.get("function_call"):
        raise InvalidInput(
            f"{where}.function_call: functions are not supported any more; use tools",
            param=f"{where}.function_call",
        )
    calls = given.get("tool_calls")
    if calls is None:
        return
    where = f"{where}.tool_calls"
    if not isinstance(calls, list):
        raise type_error(where, "a list of tool calls", calls)
    if calls:
        message["tool_calls"] = [
            _read_call(call, f"{where}[{index}]") for index, call in enumerate(calls)
        ]


def _read_call(call: Any, where: str) -> ToolCallPart:
    if not isinstance(call, dict):
        raise type_error(where, "an object", call)
    function = read_object(call, "function", at=f"{where}.")
    if call.get("type", "function") != "function" or function is None:
        raise InvalidInput(
            f"{where}: only tool calls of type function are supported", param=where
        )
    at = f"{where}.function."
    name = read_text(function, "name", at=at)
    if not name:
        raise type_error(f"{at}name", "a name", name)
    called: FunctionCall = {
        "name": name,
        "arguments": read_text(function, "arguments", at=at),
    }
    return {
        "id": read_id(call, "id", where),
        "type": "function",
        "function": called,
    }


def read_id(given: Mapping[str, Any], name: str, where: str) -> str:
    """Return the id of a tool call; it must be there. Raises: InvalidInput."""
    value = read_text(given, name, at=f"{where}.")
    if not 0 < len(value) <= MAX_ID:
        raise InvalidInput(
            f"{where}.{name}: expected 1 to {MAX_ID} characters",
            param=f"{where}.{name}",
        )
    return value
