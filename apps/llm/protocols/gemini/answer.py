"""Reads answers in the Gemini protocol.

The protocol has no end marker. Guarantees that a streamed answer counts as complete
only after a `finishReason`, and after the connection ended as it should.
"""

from __future__ import annotations

from typing import Any

from apps.llm.error_classification import EXCERPT_CHARACTERS, excerpt, reason_given
from apps.llm.errors import BadResponse, ContentFiltered, Incomplete
from apps.llm.protocols.json_values import (
    count_in,
    load_object,
    object_in,
    objects_in,
    text_in,
    usage_of,
)
from apps.llm.protocols.tool_calls import ToolCalls, json_text
from apps.llm.types import Delta, Endpoint, Finish, TokenUsage, ToolCallDelta

_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
}


def read_answer(endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
    """Return the one JSON answer to a request without a stream. Raises: LlmError."""
    answer = load_object(endpoint, body)
    if not objects_in(answer.get("candidates")) and not _is_blocked(answer):
        raise BadResponse(f"{endpoint.name!r}: an answer without candidates")
    reader = GeminiReader(endpoint)
    return reader.read_chunk(answer) or Delta(), reader.end(None)


class GeminiReader:
    """See `apps.llm.protocols.base.AnswerReader`."""

    __slots__ = ("_endpoint", "_model", "_reason", "_refusal", "_tools", "_usage")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._model = ""
        self._reason = ""
        self._refusal = ""
        self._usage: TokenUsage | None = None
        self._tools = ToolCalls(endpoint)

    def read(self, payload: bytes) -> Delta | Finish | None:
        """Return what one chunk says; the finish comes with `end`."""
        if not payload or payload.isspace():
            return None
        return self.read_chunk(load_object(self._endpoint, payload))

    def end(self, rest: bytes | None) -> Finish:
        """Return the finish, if a reason for it has been given."""
        if rest:  # a last chunk that lacks its empty line may lack more
            raise Incomplete(f"{self._endpoint.name!r}: ended inside of a chunk")
        if not self._reason:
            raise Incomplete(f"{self._endpoint.name!r}: ended without a finishReason")
        reason = self._tools.settle(self._reason)
        model = self._model or self._endpoint.model
        return Finish(reason, model, self._usage, refusal=self._refusal)

    def read_chunk(self, chunk: dict[str, Any]) -> Delta | None:
        """Return what a chunk, or a whole answer, says. Raises: LlmError."""
        self._model = text_in(chunk.get("modelVersion")) or self._model
        self._usage = _usage(object_in(chunk, "usageMetadata")) or self._usage
        candidates = objects_in(chunk.get("candidates"))
        if not candidates:
            if _is_blocked(chunk):
                raise _blocked(self._endpoint, object_in(chunk, "promptFeedback"))
            return None
        delta = self._delta(
            objects_in(object_in(candidates[0], "content").get("parts"))
        )
        if candidates[0].get("finishReason"):
            self._reason = self._finish_reason(candidates[0])
            self._tools.close()
        return delta

    def _delta(self, parts: list[dict[str, Any]]) -> Delta | None:
        text = "".join(text_in(p.get("text")) for p in parts if not p.get("thought"))
        thought = "".join(text_in(p.get("text")) for p in parts if p.get("thought"))
        calls = tuple(
            self._call(object_in(part, "functionCall"))
            for part in parts
            if "functionCall" in part
        )
        return Delta(text, thought, calls) if text or thought or calls else None

    def _call(self, call: dict[str, Any]) -> ToolCallDelta:
        id_, name = text_in(call.get("id")), text_in(call.get("name"))
        arguments = json_text(call.get("args") or {})
        return self._tools.add(self._tools.open(), id_, name, arguments)

    def _finish_reason(self, candidate: dict[str, Any]) -> str:
        reason = text_in(candidate.get("finishReason"))
        if reason not in _REASONS:  # MALFORMED_FUNCTION_CALL, OTHER and whatever comes
            said = excerpt(reason, self._endpoint)
            raise BadResponse(f"{self._endpoint.name!r}: stopped for {said}")
        if _REASONS[reason] == "content_filter":
            words = text_in(candidate.get("finishMessage"))
            said = reason_given(words, self._endpoint)
            self._refusal = said or f"The provider withheld the answer: {reason}"
        return _REASONS[reason]


def _blocked(endpoint: Endpoint, feedback: dict[str, Any]) -> ContentFiltered:
    reason = excerpt(text_in(feedback.get("blockReason")), endpoint)
    said = reason_given(text_in(feedback.get("blockReasonMessage")), endpoint)
    words = said or f"The provider blocks the prompt: {reason}"
    return ContentFiltered(
        f"{endpoint.name!r}: {words[:EXCERPT_CHARACTERS]}", said=words
    )


def _is_blocked(answer: dict[str, Any]) -> bool:
    return bool(object_in(answer, "promptFeedback").get("blockReason"))


def _usage(counts: dict[str, Any]) -> TokenUsage | None:
    """Return the usage; the protocol counts thinking apart, and omits zeros."""
    prompt = count_in(counts, "promptTokenCount")
    if prompt is None:
        return None
    thoughts = count_in(counts, "thoughtsTokenCount") or 0
    answer = count_in(counts, "candidatesTokenCount") or 0
    return usage_of(
        prompt + (count_in(counts, "toolUsePromptTokenCount") or 0),
        answer + thoughts,
        cached=count_in(counts, "cachedContentTokenCount") or 0,
        reasoning=thoughts,
    )
