"""Scripts in the Gemini protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apps.llm.testing.answers import ModelAnswer
from apps.llm.testing.server import Script, event, json_script
from apps.llm.types import TokenUsage, ToolCallDelta

REASONS: Mapping[str, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
}
STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiDialect:
    """See `apps.llm.testing.answers.Dialect`."""

    def answer_script(self, answer: ModelAnswer) -> Script:
        """Return the answer in one piece."""
        parts = _thoughts(answer)
        parts += [{"text": answer.text}] if answer.text else []
        parts += [_call(call) for call in answer.calls]
        return json_script(_chunk(answer, parts, is_last=True))

    def events(self, answer: ModelAnswer) -> list[bytes]:
        """Return the chunks; the last one has the reason and the usage."""
        parts = _thoughts(answer)
        parts += [{"text": text} for text in answer.texts]
        parts += [_call(call) for call in answer.calls]
        chunks = [_chunk(answer, [part], is_last=False) for part in parts]
        chunks.append(_chunk(answer, [{"text": ""}], is_last=True))
        return [event(chunk) for chunk in chunks]

    def error_event(self, message: str = "overloaded") -> bytes:
        """Return an error chunk."""
        return event(_error(503, message))

    def refusal_script(self, status: int, message: str = "no") -> Script:
        """Return an error in Google's shape."""
        return json_script(_error(status, message), status=status)

    def models_script(self, names: Sequence[str]) -> Script:
        """Return a page of models, and one that makes no text."""
        rows: list[dict[str, Any]] = [
            {
                "name": f"models/{name}",
                "supportedGenerationMethods": ["generateContent"],
            }
            for name in names
        ]
        embedder = {"name": "models/e", "supportedGenerationMethods": ["embedContent"]}
        return json_script({"models": [*rows, embedder]})


def _thoughts(answer: ModelAnswer) -> list[dict[str, Any]]:
    return [{"text": answer.reasoning, "thought": True}] if answer.reasoning else []


def _call(call: ToolCallDelta) -> dict[str, Any]:
    arguments = orjson.loads(call.arguments)
    return {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}


def _chunk(
    answer: ModelAnswer, parts: list[dict[str, Any]], *, is_last: bool
) -> dict[str, Any]:
    content = {"role": "model", "parts": parts}
    candidate: dict[str, Any] = {"index": 0, "content": content}
    if is_last:
        candidate["finishReason"] = REASONS[answer.finish_reason]
    chunk: dict[str, Any] = {"candidates": [candidate], "modelVersion": answer.model}
    if answer.usage:
        chunk["usageMetadata"] = _usage(answer.usage, is_last=is_last)
    return chunk


def _usage(usage: TokenUsage, *, is_last: bool) -> dict[str, int]:
    counts = {"promptTokenCount": usage.prompt_tokens}
    if is_last:
        answer = usage.completion_tokens - usage.reasoning_tokens
        counts["candidatesTokenCount"] = answer
        counts["thoughtsTokenCount"] = usage.reasoning_tokens
        counts["cachedContentTokenCount"] = usage.cached_tokens
        counts["totalTokenCount"] = usage.prompt_tokens + usage.completion_tokens
    return counts


def _error(status: int, message: str) -> dict[str, Any]:
    said = {"code": status, "message": message}
    return {"error": {**said, "status": STATUSES.get(status, "INTERNAL")}}
