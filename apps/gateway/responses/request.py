"""Reads the body of a response: strict about what we use, deaf to the rest.

Refusals name the field at fault the way the OpenAI API does. What the request says of
earlier responses is only read here; `history` finds it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.ports import CallParams, Messages
from apps.gateway.chat_completions.request import read_model
from apps.gateway.parsing.conductor_options import (
    ConductorOptions,
    read_conductor_options,
)
from apps.gateway.parsing.extra_params import (
    EFFORTS,
    EXTRA_FIELDS,
    VERBOSITIES,
    read_extra_params,
    read_word,
)
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.parsing.json_fields import (
    read_bool,
    read_count,
    read_number,
    read_object,
    read_text,
)
from apps.gateway.parsing.messages import settle
from apps.gateway.parsing.metadata import read_metadata, with_user
from apps.gateway.parsing.params import MAX_IGNORED_NAMES, ignored_names
from apps.gateway.parsing.tools import read_parallel
from apps.gateway.presets import FilledBody, refuse_preset
from apps.gateway.responses.ids import run_of_response
from apps.gateway.responses.input_parser import Entry, read_input
from apps.gateway.responses.tools import (
    left_out_tools,
    read_choice,
    read_format,
    read_tools,
)
from apps.gateway.run_starter import ChatTask

USED_FIELDS = frozenset(
    {
        "background",
        "conductor",
        *EXTRA_FIELDS,
        "input",
        "instructions",
        "max_output_tokens",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "reasoning",
        "stream",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_p",
        "user",
    }
)
ELSEWHERE = {
    "conversation": "conversations are not kept; use previous_response_id",
    "prompt": "prompt templates of OpenAI are not kept; send input or a preset",
}
"""Fields that would change the question, so leaving them out is no tolerance."""
LOGPROBS = "message.output_text.logprobs"
MAX_USER = 512
MAX_WORD = 64


class UnknownPrevious(InvalidInput):
    """There is no such response to go on from."""

    code = "previous_response_not_found"


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A response as asked for, checked as far as the request alone can tell."""

    model: str
    entries: tuple[Entry, ...]
    params: CallParams
    options: ConductorOptions
    instructions: str
    """Empty: none."""
    previous: uuid.UUID | None
    """The run of `previous_response_id`."""
    is_streamed: bool
    is_background: bool
    ignored: str
    echo: Mapping[str, Any]
    filled: FilledBody

    def asked(self, messages: Messages, *, max_bytes: int) -> ChatTask:
        """Return the whole question. Raises: InvalidInput.

        `messages`: the conversation, what earlier responses add to it included.
        """
        conversation = settle(messages, max_bytes, "input")
        task = ChatTask(
            model=self.model,
            prompt=conversation.prompt,
            prompt_field="input",
            messages=conversation.messages,
            params=self.params,
            is_streamed=self.is_streamed,
            delivery=self.options.delivery,
            progress=self.options.progress,
            restrictions=self.options.restrictions,
            family=self.options.family,
            ignored=self.ignored,
            is_background=self.is_background,
            echo=self.echo,
            metadata=with_user(self.echo.get("metadata", {}), self.echo),
        )
        return self.filled.asked(task)


def parse_request(raw: bytes, *, needs_input: bool = True) -> ResponseRequest:
    """Return the request in `raw`; a preset cannot make it. Raises: InvalidInput."""
    body = parse_object(raw)
    refuse_preset(body)
    return read_request(FilledBody(body), needs_input=needs_input)


def read_request(filled: FilledBody, *, needs_input: bool = True) -> ResponseRequest:
    """Return the request that a body is. Raises: InvalidInput naming the fault.

    `needs_input`: False if a response to go on from is enough.
    """
    body = filled.body
    previous = _read_previous(body)
    is_on_record = previous is not None and body.get("input") is None
    _refuse_unsupported(body)
    instructions = _read_optional(body, "instructions")
    is_background = read_bool(body, "background")
    return ResponseRequest(
        model=read_model(body),
        entries=() if is_on_record and not needs_input else read_input(body),
        params=_read_params(body),
        options=read_conductor_options(body),
        instructions=instructions,
        previous=previous,
        is_streamed=read_bool(body, "stream"),
        is_background=is_background,
        ignored=_ignored(body),
        echo=_read_echo(body, has_instructions=bool(instructions)),
        filled=filled,
    )


def _ignored(body: Mapping[str, Any]) -> str:
    names = ignored_names(body, USED_FIELDS)
    left_out = left_out_tools(body) if "tools" in body else []
    if not left_out:
        return names
    shown = left_out[:MAX_IGNORED_NAMES]
    if len(shown) < len(left_out):
        shown.append(f"+{len(left_out) - len(shown)}")
    return ",".join([*([names] if names else ()), *shown])


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    for name, why in ELSEWHERE.items():
        if body.get(name) is not None:
            raise InvalidInput(f"{name}: {why}", param=name)
    if body.get("top_logprobs"):
        raise InvalidInput("log probabilities are not supported", param="top_logprobs")
    include = body.get("include")
    if isinstance(include, list) and LOGPROBS in include:
        raise InvalidInput("log probabilities are not supported", param="include")


def _read_params(body: Mapping[str, Any]) -> CallParams:
    given = read_tools(body)
    tools, choice = read_choice(body, given)
    return CallParams(
        max_tokens=read_count(body, "max_output_tokens"),
        temperature=read_number(body, "temperature", 0, 2),
        top_p=read_number(body, "top_p", 0, 1),
        response_format=read_format(body),
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=read_parallel(body, tools),
        extra=_read_extra(body),
    )


def _read_extra(body: Mapping[str, Any]) -> dict[str, Any] | None:
    found = read_extra_params(body) or {}
    reasoning = read_object(body, "reasoning") or {}
    if reasoning.get("effort") is not None:
        effort = read_word(reasoning, "effort", EFFORTS, at="reasoning.")
        found["reasoning_effort"] = effort
    text = read_object(body, "text") or {}
    if text.get("verbosity") is not None:
        word = read_word(text, "verbosity", VERBOSITIES, at="text.")
        found["verbosity"] = word
    return found or None


def _read_optional(body: Mapping[str, Any], name: str) -> str:
    return "" if body.get(name) is None else read_text(body, name)


def _read_previous(body: Mapping[str, Any]) -> uuid.UUID | None:
    name = _read_optional(body, "previous_response_id")
    if not name:
        return None
    run_id = run_of_response(name)
    if run_id is None:
        raise unknown_previous(name)
    return run_id


def unknown_previous(name: str) -> UnknownPrevious:
    """Return the error for a response to go on from that is not there."""
    return UnknownPrevious(
        f"previous_response_id: there is no response {name[:64]!r}",
        param="previous_response_id",
    )


def _read_echo(body: Mapping[str, Any], *, has_instructions: bool) -> dict[str, Any]:
    echo = {
        "background": read_bool(body, "background"),
        "has_instructions": has_instructions,
        "metadata": read_metadata(body),
        "previous_response_id": _read_optional(body, "previous_response_id"),
        "reasoning": _read_reasoning(body),
        "user": _read_optional(body, "user")[:MAX_USER],
    }
    return {name: value for name, value in echo.items() if value}


def _read_reasoning(body: Mapping[str, Any]) -> dict[str, str | None]:
    reasoning = read_object(body, "reasoning")
    if not reasoning:
        return {}
    names = ("effort", "summary")
    return {
        name: None
        if reasoning.get(name) is None
        else read_text(reasoning, name, at="reasoning.")[:MAX_WORD]
        for name in names
    }
