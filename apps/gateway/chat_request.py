"""Reads the body of a chat completion: strict about what we use, deaf to the rest.

Every refusal names the field at fault the way the OpenAI API does
(`messages[0].content[1]`). Fields we do not use are accepted, and their names kept.
Written by hand because this runs for every request: no schema library comes near it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from apps.core.errors import InvalidInput
from apps.engine.ports import CallParams
from apps.gateway.conversation import LABELS, ROLES, Turn, compose_prompt
from apps.gateway.fields import (
    read_bool,
    read_count,
    read_integer,
    read_number,
    read_object,
    read_text,
    type_error,
)
from apps.gateway.narrowing import read_narrowing
from apps.runs.types import NOT_NARROWED, Narrowing

MAX_STOPS = 4
SEED_RANGE = (-(2**63), 2**63 - 1)
USED_FIELDS = frozenset(
    {
        "conductor",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "response_format",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
    }
)
RESPONSE_FORMATS = ("text", "json_object", "json_schema")
NOT_TEXT = {
    "image_url": "images are not supported yet",
    "input_audio": "audio is not supported yet",
    "file": "files are not supported yet",
}
"""Content parts that clients send and we cannot use, with what to tell them."""
MAX_IGNORED_NAMES = 20
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion as asked for, checked."""

    model: str
    prompt: str
    params: CallParams
    is_streamed: bool
    wants_usage: bool
    """True: `stream_options.include_usage` was set."""
    ignored: str
    """Names of the fields that had no effect, for the ledger."""
    narrowing: Narrowing = NOT_NARROWED
    """The field `conductor`: what the caller gives away of the pool."""


def parse_chat_request(raw: bytes, *, max_prompt_bytes: int) -> ChatRequest:
    """Return the request in `raw`. Raises: InvalidInput naming the field at fault."""
    body = _parse_object(raw)
    _refuse_unsupported(body)
    options = read_object(body, "stream_options") or {}
    return ChatRequest(
        model=_read_model(body),
        prompt=_read_prompt(body, max_prompt_bytes),
        params=_read_params(body, max_prompt_bytes),
        is_streamed=read_bool(body, "stream"),
        wants_usage=read_bool(options, "include_usage", at="stream_options."),
        ignored=_ignored_names(body),
        narrowing=read_narrowing(body),
    )


def _parse_object(raw: bytes) -> dict[str, Any]:
    try:
        # orjson refuses NaN, infinities, lone surrogates, bad UTF-8 and deep nesting.
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise InvalidInput(f"the request body is not valid JSON: {exc}") from exc
    if not isinstance(body, dict):
        raise type_error("", "a JSON object", body)
    return body


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    n = body.get("n")
    if n is not None and (type(n) is not int or n != 1):
        raise InvalidInput("n: only 1 is supported, ask again for more", param="n")
    if read_bool(body, "logprobs"):
        raise InvalidInput("log probabilities are not supported", param="logprobs")
    if body.get("top_logprobs"):
        raise InvalidInput("log probabilities are not supported", param="top_logprobs")
    for name in ("tools", "functions"):
        if body.get(name):
            raise InvalidInput(f"{name} are not supported yet", param=name)


def _read_model(body: Mapping[str, Any]) -> str:
    model = read_text(body, "model")
    if not model:
        raise InvalidInput("model: a model name is required", param="model")
    return model


# --- messages ------------------------------------------------------------------------


def _read_prompt(body: Mapping[str, Any], max_bytes: int) -> str:
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise type_error("messages", "a list of messages", messages)
    turns = [_read_turn(message, index) for index, message in enumerate(messages)]
    if not any(turn.text.strip() for turn in turns if turn.role == "user"):
        raise InvalidInput(
            "messages: at least one message of the user with text is required",
            param="messages",
        )
    prompt = compose_prompt(turns)
    if "\x00" in prompt:
        raise InvalidInput("messages: the text holds a NUL character", param="messages")
    size = len(prompt.encode())
    if size > max_bytes:
        raise InvalidInput(
            f"messages: together {size} bytes of text, at most {max_bytes} are allowed",
            param="messages",
        )
    return prompt


def _read_turn(message: Any, index: int) -> Turn:
    where = f"messages[{index}]"
    if not isinstance(message, dict):
        raise type_error(where, "an object", message)
    role = message.get("role")
    if role in ("tool", "function"):
        raise InvalidInput(
            f"{where}.role: tool results are not supported yet", param=f"{where}.role"
        )
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidInput(
            f"{where}.role: expected one of system, developer, user, assistant",
            param=f"{where}.role",
        )
    if message.get("tool_calls") or message.get("function_call"):
        raise InvalidInput(
            f"{where}.tool_calls: tools are not supported yet",
            param=f"{where}.tool_calls",
        )
    return Turn(role, _read_content(message.get("content"), role, f"{where}.content"))


def _read_content(content: Any, role: str, where: str) -> str:
    if isinstance(content, str):
        return content
    if content is None and role == "assistant":
        return ""
    if not isinstance(content, list):
        raise type_error(where, "a text or a list of parts", content)
    return "".join(
        _read_part(part, role, f"{where}[{index}]")
        for index, part in enumerate(content)
    )


def _read_part(part: Any, role: str, where: str) -> str:
    if not isinstance(part, dict):
        raise type_error(where, "an object", part)
    kind = part.get("type")
    if kind == "text" or (kind == "refusal" and role in LABELS):
        return read_text(part, kind, at=f"{where}.")
    why = NOT_TEXT.get(kind) if isinstance(kind, str) else None
    raise InvalidInput(f"{where}: {why or 'expected a part of type text'}", param=where)


# --- parameters ----------------------------------------------------------------------


def _read_params(body: Mapping[str, Any], max_bytes: int) -> CallParams:
    legacy_max = read_count(body, "max_tokens")
    return CallParams(
        max_tokens=read_count(body, "max_completion_tokens") or legacy_max,
        temperature=read_number(body, "temperature", 0, 2),
        top_p=read_number(body, "top_p", 0, 1),
        stop=_read_stop(body),
        seed=read_integer(body, "seed", *SEED_RANGE),
        response_format=_read_response_format(body, max_bytes),
    )


def _read_stop(body: Mapping[str, Any]) -> tuple[str, ...]:
    stop = body.get("stop")
    if stop is None:
        return ()
    texts = [stop] if isinstance(stop, str) else stop
    if not isinstance(texts, list):
        raise type_error("stop", "a text or a list of texts", stop)
    if len(texts) > MAX_STOPS:
        raise InvalidInput(
            f"stop: {len(texts)} sequences, at most {MAX_STOPS} are allowed",
            param="stop",
        )
    for index, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise type_error(f"stop[{index}]", "a text that is not empty", text)
    return tuple(texts)


def _read_response_format(
    body: Mapping[str, Any], max_bytes: int
) -> Mapping[str, Any] | None:
    shape = read_object(body, "response_format")
    if shape is None:
        return None
    kind = shape.get("type")
    if kind not in RESPONSE_FORMATS:
        raise InvalidInput(
            f"response_format.type: expected one of {', '.join(RESPONSE_FORMATS)}",
            param="response_format.type",
        )
    if kind == "json_schema" and not isinstance(shape.get("json_schema"), dict):
        raise type_error(
            "response_format.json_schema", "an object", shape.get("json_schema")
        )
    try:
        # What orjson reads it can't always write: reading allows deeper nesting.
        size = len(orjson.dumps(shape))
    except orjson.JSONEncodeError as exc:
        raise InvalidInput(
            "response_format: nested too deeply", param="response_format"
        ) from exc
    if size > max_bytes:
        raise InvalidInput(
            f"response_format: {size} bytes, at most {max_bytes} are allowed",
            param="response_format",
        )
    return None if kind == "text" else shape


def _ignored_names(body: Mapping[str, Any]) -> str:
    names = [name for name in body if name not in USED_FIELDS]
    if not names:
        return ""
    plain = sorted(name for name in names if PLAIN_NAME.fullmatch(name))
    shown = plain[:MAX_IGNORED_NAMES]
    if len(shown) < len(names):
        shown.append(f"+{len(names) - len(shown)}")
    return ",".join(shown)
