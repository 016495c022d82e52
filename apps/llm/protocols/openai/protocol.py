"""Writes requests in the chat completions protocol."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from apps.llm.protocols.base import Headers
from apps.llm.protocols.extra_params import (
    CACHE_CONTROL,
    extra_params,
    with_extra_body,
)
from apps.llm.protocols.json_values import encode, objects_in, without_nones
from apps.llm.protocols.openai.answer import OpenAiReader, read_answer
from apps.llm.protocols.openai.messages import sent_messages
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish

GOES_ON = {"continue_final_message": True, "add_generation_prompt": False}
"""How vLLM and SGLang are asked to go on from the last message. Servers that always do
(llama.cpp, OpenRouter) pass over the fields; OpenAI's own can't go on at all."""
_UNSAMPLED = re.compile(r"(?:^|/)(?:o[1-9](?:-|$)|gpt-[5-9](?!.*chat))")
"""OpenAI's reasoning models, also in a router's words: they refuse every `temperature`
and `top_p` but the one they have."""


class OpenAi:
    """See `apps.llm.protocols.base.WireProtocol`."""

    max_tool_name = 64

    def chat_url(self, endpoint: Endpoint, *, is_stream: bool) -> str:
        """Return the address of the chat completions method."""
        return endpoint.base_url.rstrip("/") + "/chat/completions"

    def models_url(self, endpoint: Endpoint) -> str:
        """Return the address of the method that lists models."""
        return endpoint.base_url.rstrip("/") + "/models"

    def headers(self, endpoint: Endpoint) -> Headers:
        """Return the key as a bearer."""
        if not endpoint.api_key:
            return ()
        return (("authorization", f"Bearer {endpoint.api_key}"),)

    def request_body(
        self, endpoint: Endpoint, request: ChatRequest, *, is_stream: bool
    ) -> bytes:
        """Return the JSON body. Raises: BadRequest."""
        fields: dict[str, Any] = {
            "model": endpoint.model,
            "messages": sent_messages(request.messages),
        }
        optional = {
            endpoint.max_tokens_field: request.max_tokens,
            **_sampling(endpoint, request),
            "stop": list(request.stop) or None,
            "seed": request.seed,
            "response_format": request.response_format,
        }
        fields |= without_nones(optional)
        if request.tools:
            fields |= _tools(request)
        if request.is_continued:
            fields |= GOES_ON
        if extra := extra_params(endpoint, request):
            fields |= _own_words(extra)
        if is_stream:
            fields["stream"] = True
            fields["stream_options"] = {"include_usage": True}
        return encode(with_extra_body(endpoint, fields))

    def extra_params(self, model: str) -> None:
        """Return None: servers differ, so the endpoint's own settings decide."""

    def read_answer(self, endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
        """Return the one JSON answer. Raises: LlmError."""
        return read_answer(endpoint, body)

    def reader(self, endpoint: Endpoint) -> OpenAiReader:
        """Return what reads one streamed answer."""
        return OpenAiReader(endpoint)

    def model_names(self, listing: Any) -> Iterable[Any] | None:
        """Return the names in `data`; some providers send the bare list."""
        rows = listing.get("data") if isinstance(listing, dict) else listing
        if not isinstance(rows, list):
            return None
        return [row.get("id") for row in objects_in(rows)]


def _sampling(endpoint: Endpoint, request: ChatRequest) -> dict[str, float | None]:
    if request.temperature is None and request.top_p is None:
        return {}
    if _UNSAMPLED.search(endpoint.model):
        return {}
    return {"temperature": request.temperature, "top_p": request.top_p}


def _own_words(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters as fields, without marks on parts of messages."""
    if extra.get(CACHE_CONTROL) is True:
        return {name: extra[name] for name in extra if name != CACHE_CONTROL}
    return extra


def _tools(request: ChatRequest) -> dict[str, Any]:
    return without_nones(
        {
            "tools": list(request.tools),
            "tool_choice": request.tool_choice,
            "parallel_tool_calls": request.parallel_tool_calls,
        }
    )
