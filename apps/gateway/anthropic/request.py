"""Reads the body of a message request: strict about what we use, deaf to the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from apps.accounts.types import KeyHolder
from apps.engine.messages import estimate_input, estimate_tools
from apps.engine.ports import CallParams
from apps.engine.usage import estimate_tokens
from apps.gateway.anthropic.conversation import ReadConversation, read_conversation
from apps.gateway.anthropic.errors import ThreadUnsupported
from apps.gateway.anthropic.params import (
    read_extra,
    read_format,
    read_thinking,
)
from apps.gateway.anthropic.tools import ToolOptions, read_tool_options
from apps.gateway.chat_completions.request import read_model
from apps.gateway.parsing.conductor_options import read_conductor_options
from apps.gateway.parsing.extra_params import with_cache_marks
from apps.gateway.parsing.json_fields import (
    read_bool,
    read_count,
    read_number,
    type_error,
)
from apps.gateway.parsing.messages import ParsedMessages
from apps.gateway.parsing.metadata import read_metadata
from apps.gateway.parsing.params import ignored_names, read_stop
from apps.gateway.presets import FilledBody
from apps.gateway.run_starter import ChatTask

USED_FIELDS = frozenset(
    {
        "cache_control",
        "conductor",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "service_tier",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    }
)


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A message as asked for, checked."""

    asked: ChatTask
    wants_thinking: bool
    """True: thoughts are to be part of the answer."""
    estimated_input: int
    """Tokens."""

    def shows_thinking_to(self, holder: KeyHolder) -> bool:
        """Say whether the run's progress is streamed as thoughts."""
        return self.wants_thinking and self.asked.progress_for(holder) == "reasoning"


def read_message_request(
    filled: FilledBody, *, max_prompt_bytes: int
) -> MessageRequest:
    """Return the request that a body is. Raises: InvalidInput naming the fault."""
    body = filled.body
    if body.get("thread") is not None:
        raise ThreadUnsupported(
            "threads are not kept; send the whole conversation", param="thread"
        )
    model = read_model(body)
    max_tokens = _required_count(body)
    read = read_conversation(body, max_prompt_bytes)
    tools = read_tool_options(body)
    thinking = read_thinking(body, max_tokens)
    options = read_conductor_options(body)
    params = CallParams(
        max_tokens=max_tokens,
        temperature=read_number(body, "temperature", 0, 1),
        top_p=read_number(body, "top_p", 0, 1),
        stop=read_stop(body, "stop_sequences"),
        response_format=read_format(body),
        tools=tools.tools,
        tool_choice=tools.choice,
        parallel_tool_calls=tools.is_parallel,
        extra=read_extra(body, thinking),
    )
    if read.conversation.has_cache_marks:
        params = with_cache_marks(params)
    if params.extra is not None:
        params = replace(params, is_extra_translated=True)
    asked = ChatTask(
        model=model,
        prompt=read.conversation.prompt,
        messages=read.conversation.messages,
        params=params,
        is_streamed=read_bool(body, "stream"),
        delivery=options.delivery,
        progress=options.progress,
        restrictions=options.restrictions,
        family=options.family,
        metadata=read_metadata(body),
        ignored=ignored_names(body, USED_FIELDS, _left_out(read, tools)),
        answered=read.answered,
    )
    return MessageRequest(
        filled.asked(asked),
        wants_thinking=thinking.is_shown,
        estimated_input=estimated_input(read.conversation, tools),
    )


def count_input(body: Mapping[str, Any], *, max_prompt_bytes: int) -> tuple[str, int]:
    """Return the model that is asked, and an estimate of the tokens it would read.

    Raises: InvalidInput naming the field at fault.
    """
    model = read_model(body)
    read = read_conversation(body, max_prompt_bytes)
    tools = read_tool_options(body)
    read_thinking(body, None)
    return model, estimated_input(read.conversation, tools)


def estimated_input(conversation: ParsedMessages, tools: ToolOptions) -> int:
    """Estimate the input tokens of a conversation and the tools offered with it."""
    asked = (
        estimate_input(conversation.messages)
        if conversation.messages
        else estimate_tokens(conversation.prompt)
    )
    return asked + estimate_tools(tools.tools)


def _left_out(read: ReadConversation, tools: ToolOptions) -> list[str]:
    """Return names for what is inside of fields and has no effect."""
    return [
        *(f"tools.{kind}" for kind in tools.left_out),
        *(f"messages.{kind}" for kind in read.skipped),
    ]


def _required_count(body: Mapping[str, Any]) -> int:
    count = read_count(body, "max_tokens")
    if count is None:
        raise type_error("max_tokens", "a whole number", None)
    return count
