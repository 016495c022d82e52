"""Scripts in Anthropic's messages protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apps.llm.testing.answers import ModelAnswer
from apps.llm.testing.server import Script, event, json_script
from apps.llm.types import TokenUsage, ToolCallDelta

REASONS: Mapping[str, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicDialect:
    """See `apps.llm.testing.answers.Dialect`."""

    def answer_script(self, answer: ModelAnswer) -> Script:
        """Return the answer in one piece."""
        content: list[dict[str, Any]] = []
        if answer.reasoning:
            thinking = {"thinking": answer.reasoning, "signature": "c2ln"}
            content.append({"type": "thinking", **thinking})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [
            {**_call(call), "input": orjson.loads(call.arguments)}
            for call in answer.calls
        ]
        message = {**_head(answer), "content": content}
        message["stop_reason"] = REASONS[answer.finish_reason]
        if answer.usage:
            message["usage"] = _usage(answer.usage)
        return json_script(message)

    def events(self, answer: ModelAnswer) -> list[bytes]:
        """Return the events: `message_start`, the blocks, `message_stop`."""
        head: dict[str, Any] = {**_head(answer), "content": [], "stop_reason": None}
        if answer.usage:
            head["usage"] = {**_usage(answer.usage), "output_tokens": 1}
        events = [_event("message_start", message=head), _event("ping")]
        for index, (block, deltas) in enumerate(_blocks(answer)):
            events.append(
                _event("content_block_start", index=index, content_block=block)
            )
            events += [
                _event("content_block_delta", index=index, delta=delta)
                for delta in deltas
            ]
            events.append(_event("content_block_stop", index=index))
        end: dict[str, Any] = {
            "delta": {
                "stop_reason": REASONS[answer.finish_reason],
                "stop_sequence": None,
            }
        }
        if answer.usage:
            end["usage"] = {"output_tokens": answer.usage.completion_tokens}
        return [*events, _event("message_delta", **end), _event("message_stop")]

    def error_event(self, message: str = "Overloaded") -> bytes:
        """Return an `error` event."""
        return _event("error", error={"type": "overloaded_error", "message": message})

    def refusal_script(self, status: int, message: str = "no") -> Script:
        """Return an error in Anthropic's shape."""
        error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
        return json_script({"type": "error", "error": error}, status=status)

    def models_script(self, names: Sequence[str]) -> Script:
        """Return a page of models."""
        rows = [{"type": "model", "id": name} for name in names]
        return json_script({"data": rows, "has_more": False})


def _head(answer: ModelAnswer) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
    }


def _blocks(answer: ModelAnswer) -> list[tuple[dict[str, Any], list[dict[str, str]]]]:
    """Return every block's beginning and its deltas."""
    blocks: list[tuple[dict[str, Any], list[dict[str, str]]]] = []
    if answer.reasoning:
        thought = {"type": "thinking_delta", "thinking": answer.reasoning}
        signature = {"type": "signature_delta", "signature": "c2ln"}
        blocks.append(({"type": "thinking", "thinking": ""}, [thought, signature]))
    if answer.texts:
        texts = [{"type": "text_delta", "text": text} for text in answer.texts]
        blocks.append(({"type": "text", "text": ""}, texts))
    for call in answer.calls:
        pieces = ["", *_halves(call.arguments)] if call.arguments != "{}" else [""]
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces]
        blocks.append(({**_call(call), "input": {}}, deltas))
    return blocks


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _call(call: ToolCallDelta) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _usage(usage: TokenUsage) -> dict[str, int]:
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.completion_tokens,
    }


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)
