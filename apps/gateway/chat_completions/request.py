"""Reads the body of a chat completion: strict about what we use, deaf to the rest.

Every refusal names the field at fault the way the OpenAI API does
(`messages[0].content[1]`). Fields we do not use are accepted, and their names kept.
Written by hand because this runs for every request: no schema library comes near it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.errors import InvalidInput
from apps.gateway.parsing.conductor_options import read_conductor_options
from apps.gateway.parsing.extra_params import (
    EXTRA_FIELDS,
    refuse_other_outputs,
    with_cache_marks,
)
from apps.gateway.parsing.json_fields import read_bool, read_object, read_text
from apps.gateway.parsing.messages import read_messages
from apps.gateway.parsing.metadata import read_metadata, with_user
from apps.gateway.parsing.params import ignored_names, read_params
from apps.gateway.presets import FilledBody
from apps.gateway.run_starter import ChatTask

USED_FIELDS = frozenset(
    {
        "conductor",
        *EXTRA_FIELDS,
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "n",
        "parallel_tool_calls",
        "response_format",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_p",
        "user",
    }
)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A chat completion as asked for, checked."""

    asked: ChatTask
    wants_usage: bool
    """True: `stream_options.include_usage` was set."""


def read_chat_request(
    filled: FilledBody, *, max_prompt_bytes: int
) -> CompletionRequest:
    """Return the request that a body is. Raises: InvalidInput naming the fault."""
    body = filled.body
    _refuse_unsupported(body)
    options = read_object(body, "stream_options") or {}
    conversation = read_messages(body, max_prompt_bytes)
    conductor = read_conductor_options(body)
    params = read_params(body)
    if conversation.has_cache_marks:
        params = with_cache_marks(params)
    asked = ChatTask(
        model=read_model(body),
        prompt=conversation.prompt,
        messages=conversation.messages,
        params=params,
        is_streamed=read_bool(body, "stream"),
        delivery=conductor.delivery,
        progress=conductor.progress,
        restrictions=conductor.restrictions,
        family=conductor.family,
        metadata=with_user(read_metadata(body), body),
        ignored=ignored_names(body, USED_FIELDS),
    )
    return CompletionRequest(
        asked=filled.asked(asked),
        wants_usage=read_bool(options, "include_usage", at="stream_options."),
    )


def read_model(body: Mapping[str, Any]) -> str:
    """Return the field `model`. Raises: InvalidInput."""
    model = read_text(body, "model")
    if not model:
        raise InvalidInput("model: a model name is required", param="model")
    return model


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    refuse_other_outputs(body)
    n = body.get("n")
    if n is not None and (type(n) is not int or n != 1):
        raise InvalidInput("n: only 1 is supported, ask again for more", param="n")
    if read_bool(body, "logprobs"):
        raise InvalidInput("log probabilities are not supported", param="logprobs")
    if body.get("top_logprobs"):
        raise InvalidInput("log probabilities are not supported", param="top_logprobs")
    for name in ("functions", "function_call"):
        if body.get(name):
            raise InvalidInput(
                f"{name}: functions are not supported any more; use tools", param=name
            )
