"""Reads the body of a text completion: strict about what we use, deaf to the rest.

The workers are chat models, so a prompt is one user message. What only a model that
continues raw text can do is refused, because leaving it out would change the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.ports import Message, Messages
from apps.gateway.chat_completions.request import CompletionRequest, read_model
from apps.gateway.parsing.conductor_options import read_conductor_options
from apps.gateway.parsing.json_fields import read_bool, read_object, type_error
from apps.gateway.parsing.messages import settle
from apps.gateway.parsing.metadata import read_metadata, with_user
from apps.gateway.parsing.params import ignored_names, read_params
from apps.gateway.presets import FilledBody
from apps.gateway.run_starter import ChatTask

USED_FIELDS = frozenset(
    {
        "best_of",
        "conductor",
        "echo",
        "logprobs",
        "max_tokens",
        "metadata",
        "model",
        "n",
        "prompt",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "suffix",
        "temperature",
        "top_p",
        "user",
    }
)
CHAT_ONLY = ("max_completion_tokens", "response_format", "tools", "tool_choice")
"""Fields of chat completions that this form has never had."""


def read_text_completion(
    filled: FilledBody, *, max_prompt_bytes: int
) -> CompletionRequest:
    """Return the request that a body is. Raises: InvalidInput naming the fault."""
    body = filled.body
    _refuse_unsupported(body)
    options = read_object(body, "stream_options") or {}
    conversation = settle(_messages(filled), max_prompt_bytes, "prompt")
    conductor = read_conductor_options(body)
    asked = ChatTask(
        model=read_model(body),
        prompt=conversation.prompt,
        messages=conversation.messages,
        prompt_field="prompt",
        params=read_params(body),
        is_streamed=read_bool(body, "stream"),
        delivery=conductor.delivery,
        progress=conductor.progress,
        restrictions=conductor.restrictions,
        family=conductor.family,
        metadata=with_user(read_metadata(body), body),
        ignored=ignored_names(body, USED_FIELDS),
    )
    wants_usage = read_bool(options, "include_usage", at="stream_options.")
    return CompletionRequest(asked=filled.asked(asked), wants_usage=wants_usage)


def _messages(filled: FilledBody) -> Messages:
    question: Message = {"role": "user", "content": _read_prompt(filled.body)}
    if not filled.system:
        return (question,)
    return ({"role": "system", "content": filled.system}, question)


def _read_prompt(body: Mapping[str, Any]) -> str:
    prompt = body.get("prompt")
    if isinstance(prompt, list):
        if len(prompt) > 1 and all(isinstance(text, str) for text in prompt):
            raise InvalidInput(
                f"prompt: {len(prompt)} prompts, one for each request is supported",
                param="prompt",
            )
        prompt = prompt[0] if len(prompt) == 1 else prompt
    if not isinstance(prompt, str):
        raise type_error("prompt", "a text; token ids are not supported", prompt)
    if not prompt.strip():
        raise type_error("prompt", "a text that is not blank", "")
    return prompt


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    for name in ("n", "best_of"):
        value = body.get(name)
        if value is not None and (type(value) is not int or value != 1):
            raise InvalidInput(f"{name}: only 1 is supported", param=name)
    if body.get("logprobs") is not None:
        raise InvalidInput("log probabilities are not supported", param="logprobs")
    if read_bool(body, "echo"):
        raise InvalidInput("echo: repeating the prompt is not supported", param="echo")
    if body.get("suffix"):
        raise InvalidInput(
            "suffix: workers are chat models, which cannot fill in the middle of a "
            "text; describe what belongs there in the prompt",
            param="suffix",
        )
    for name in CHAT_ONLY:
        if body.get(name) is not None:
            raise InvalidInput(
                f"{name}: not supported here; use /v1/chat/completions", param=name
            )
