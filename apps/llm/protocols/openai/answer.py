"""Reads answers in the chat completions protocol.

Guarantees that a streamed answer counts as complete only after a `finish_reason` and
an end marker: `[DONE]`, or the usage chunk that follows the finish.
"""

from __future__ import annotations

from typing import Any

from apps.llm.bounds import MAX_REFUSAL_CHARACTERS
from apps.llm.error_classification import excerpt
from apps.llm.errors import BadResponse, Incomplete, ServerFailed
from apps.llm.protocols.json_values import (
    count_in,
    load_object,
    object_in,
    objects_in,
    text_in,
    usage_of,
)
from apps.llm.protocols.tool_calls import (
    NO_ARGUMENTS,
    PartialToolCall,
    ToolCalls,
    json_text,
)
from apps.llm.types import Delta, Endpoint, Finish, TokenUsage, ToolCallDelta

DONE = b"[DONE]"
_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "function_call": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
}
"""What is not in here (`eos`, `end_turn`, `stop_sequence`, …) is a normal end."""
MAX_CATEGORIES = 20
"""Names of filtered categories that are passed on, at most."""
_BROKEN_OFF = frozenset({"abort", "cancelled", "timeout"})
"""Servers' words for an answer they gave up."""


def read_answer(endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
    """Return the one JSON answer to a request without a stream. Raises: LlmError."""
    answer = load_object(endpoint, body)
    choice = _first_choice(endpoint, answer)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise BadResponse(f"{endpoint.name!r}: an answer without a message")
    reason = _finish_reason(endpoint, choice)
    if not reason:
        raise Incomplete(f"{endpoint.name!r}: an answer without a finish_reason")
    tools = ToolCalls(endpoint)
    calls = [_whole_call(tools, part) for part in objects_in(message.get("tool_calls"))]
    delta = _delta(message, (*calls, *tools.close()))
    model = text_in(answer.get("model")) or endpoint.model
    words = text_in(message.get("refusal"))
    reason = _settled(reason, tools, is_refusal=bool(words))
    refusal = _refusal(endpoint, reason, words, choice)
    usage = _usage(answer.get("usage"))
    return delta, Finish(reason, model, usage, refusal=refusal)


class OpenAiReader:
    """See `apps.llm.protocols.base.AnswerReader`."""

    __slots__ = (
        "_endpoint",
        "_finish_reason",
        "_last_choice",
        "_model",
        "_refusal",
        "_slots",
        "_tools",
        "_usage",
    )

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._finish_reason = ""
        self._last_choice: dict[str, Any] = {}  # the one with the reason
        self._refusal = ""
        self._model = ""
        self._usage: TokenUsage | None = None
        self._tools: ToolCalls | None = None  # most answers have none
        self._slots: dict[Any, PartialToolCall] = {}  # by the provider's index

    def read(self, payload: bytes) -> Delta | Finish | None:
        """Return what one chunk says."""
        if payload == DONE:
            return self._finish()
        if not payload or payload.isspace():
            return None
        chunk = load_object(self._endpoint, payload)
        usage = chunk.get("usage")
        if usage is not None:
            self._usage = _usage(usage)
        self._model = self._model or text_in(chunk.get("model"))
        choice = _first_choice(self._endpoint, chunk)
        if choice is None:
            is_end = usage is not None and self._finish_reason
            return self._finish() if is_end else None
        return self._read_choice(choice)

    def end(self, rest: bytes | None) -> Finish:
        """Return the finish if the stream ended in an unterminated end marker."""
        if rest != DONE:
            raise Incomplete(f"{self._endpoint.name!r}: ended without its end marker")
        return self._finish()

    def _read_choice(self, choice: dict[str, Any]) -> Delta | None:
        message = choice.get("delta")
        message = message if isinstance(message, dict) else {}
        calls: tuple[ToolCallDelta, ...] = ()
        if message.get("tool_calls"):
            calls = self._read_calls(message["tool_calls"])
        if choice.get("finish_reason"):
            self._finish_reason = _finish_reason(self._endpoint, choice)
            self._last_choice = choice
            calls += self._tools.close() if self._tools else ()
        words = text_in(message.get("refusal"))
        if words and len(self._refusal) < MAX_REFUSAL_CHARACTERS:
            self._refusal += words
        delta = _delta(message, calls)
        return delta if delta.text or delta.reasoning or calls or words else None

    def _read_calls(self, parts: Any) -> tuple[ToolCallDelta, ...]:
        self._tools = self._tools or ToolCalls(self._endpoint)
        return tuple(self._read_call(self._tools, part) for part in objects_in(parts))

    def _read_call(self, tools: ToolCalls, part: dict[str, Any]) -> ToolCallDelta:
        id_ = text_in(part.get("id"))
        index = part.get("index")
        if not isinstance(index, int):  # left out: an id begins a call
            index = len(tools.calls) if id_ else len(tools.calls) - 1
        call = self._slots.get(index)
        if call is None or call.ends_before(id_):
            call = self._slots[index] = tools.open()
        function = object_in(part, "function")
        name = text_in(function.get("name"))
        return tools.add(call, id_, name, json_text(function.get("arguments")))

    def _finish(self) -> Finish:
        if not self._finish_reason:
            raise Incomplete(f"{self._endpoint.name!r}: ended without a finish_reason")
        tools = self._tools or ToolCalls(self._endpoint)
        words = self._refusal
        reason = _settled(self._finish_reason, tools, is_refusal=bool(words))
        refusal = _refusal(self._endpoint, reason, words, self._last_choice)
        model = self._model or self._endpoint.model
        return Finish(reason, model, self._usage, refusal=refusal)


def _whole_call(tools: ToolCalls, part: dict[str, Any]) -> ToolCallDelta:
    function = object_in(part, "function")
    return tools.add(
        tools.open(),
        text_in(part.get("id")),
        text_in(function.get("name")),
        json_text(function.get("arguments")) or NO_ARGUMENTS,
    )


def _first_choice(endpoint: Endpoint, value: dict[str, Any]) -> dict[str, Any] | None:
    choices = value.get("choices")
    if not choices:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise BadResponse(f"{endpoint.name!r}: choices are not a list of objects")
    return choices[0]


def _finish_reason(endpoint: Endpoint, choice: dict[str, Any]) -> str:
    reason = text_in(choice.get("finish_reason"))
    if reason == "error":  # a router's word for: the model behind me failed
        raise ServerFailed(f"{endpoint.name!r} failed during its answer")
    if reason in _BROKEN_OFF:
        raise Incomplete(f"{endpoint.name!r}: broke its answer off ({reason})")
    return reason and _REASONS.get(reason, "stop")


def _settled(reason: str, tools: ToolCalls, *, is_refusal: bool) -> str:
    settled = tools.settle(reason)
    return "content_filter" if settled == "stop" and is_refusal else settled


def _refusal(
    endpoint: Endpoint, reason: str, words: str, choice: dict[str, Any]
) -> str:
    """Return why an answer was refused: the model's words, or what a filter found.

    Azure names the categories of its filter beside the reason.
    """
    if reason != "content_filter":
        return ""
    if words:
        return words[:MAX_REFUSAL_CHARACTERS]
    results = object_in(choice, "content_filter_results")
    found = [name for name in results if object_in(results, name).get("filtered")]
    names = excerpt(", ".join(found[:MAX_CATEGORIES]), endpoint)
    return f"The provider's filter withheld the answer: {names}" if names else ""


def _delta(message: dict[str, Any], calls: tuple[ToolCallDelta, ...]) -> Delta:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Delta(text_in(message.get("content")), text_in(reasoning), calls)


def _usage(value: Any) -> TokenUsage | None:
    prompt_details = object_in(value, "prompt_tokens_details")
    completion_details = object_in(value, "completion_tokens_details")
    return usage_of(
        count_in(value, "prompt_tokens"),
        count_in(value, "completion_tokens"),
        cached=count_in(prompt_details, "cached_tokens") or 0,
        reasoning=count_in(completion_details, "reasoning_tokens") or 0,
    )
