"""Reads answers in Anthropic's messages protocol.

Guarantees that a streamed answer counts as complete only after `message_stop`, and
that this counts only after a `stop_reason`.
"""

from __future__ import annotations

from typing import Any

from apps.llm.bounds import Unreadable, load_json
from apps.llm.error_classification import excerpt, reason_given
from apps.llm.errors import BadResponse, Incomplete, UnusableResponse
from apps.llm.protocols.json_values import (
    count_in,
    load_object,
    object_in,
    objects_in,
    text_in,
    usage_of,
)
from apps.llm.protocols.tool_calls import (
    MAX_TOOL_CALLS,
    NO_ARGUMENTS,
    PartialToolCall,
    ToolCalls,
    json_text,
)
from apps.llm.types import Delta, Endpoint, Finish, TokenUsage, ToolCallDelta

ANSWER_TOOL = "give_structured_answer"
"""The tool whose arguments are the answer itself, where a schema is asked for."""
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
"""The only numbers that are read of a usage."""


def read_answer(endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
    """Return the one JSON answer to a request without a stream. Raises: LlmError."""
    answer = load_object(endpoint, body)
    content = answer.get("content")
    if not isinstance(content, list):
        raise BadResponse(f"{endpoint.name!r}: an answer without content")
    blocks = objects_in(content)
    tools = ToolCalls(endpoint)
    calls = [_whole_call(tools, block) for block in blocks if _is_call(block)]
    delta = Delta(
        "".join(map(_text, blocks)),
        "".join(text_in(block.get("thinking")) for block in blocks),
        (*calls, *tools.close()),
    )
    reason = _finish_reason(endpoint, text_in(answer.get("stop_reason")), tools)
    model = text_in(answer.get("model")) or endpoint.model
    usage = _usage(object_in(answer, "usage"))
    sequence, refusal = text_in(answer.get("stop_sequence")), _refusal(endpoint, answer)
    return delta, Finish(reason, model, usage, sequence, refusal)


class AnthropicReader:
    """See `apps.llm.protocols.base.AnswerReader`."""

    __slots__ = (
        "_answers",
        "_calls",
        "_endpoint",
        "_handlers",
        "_model",
        "_reason",
        "_refusal",
        "_stop_sequence",
        "_tools",
        "_usage",
    )

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._model = ""
        self._reason = ""
        self._refusal = ""
        self._stop_sequence = ""
        self._usage: dict[str, int] = {}
        self._tools = ToolCalls(endpoint)
        self._calls: dict[int, tuple[PartialToolCall, str]] = {}  # by the block's index
        self._answers: dict[int, bool] = {}  # by the block's index: has it begun?
        self._handlers = {
            "message_start": self._start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._stop,
        }

    def read(self, payload: bytes) -> Delta | Finish | None:
        """Return what one event says; unknown ones say nothing."""
        if not payload or payload.isspace():
            return None
        event = load_object(self._endpoint, payload)
        handler = self._handlers.get(text_in(event.get("type")))
        return handler(event) if handler else None

    def end(self, rest: bytes | None) -> Finish:
        """Return the finish if the stream ended in an unterminated `message_stop`."""
        if not _is_stop(rest):
            raise Incomplete(f"{self._endpoint.name!r}: ended without its end marker")
        return self._stop({})

    def _start(self, event: dict[str, Any]) -> None:
        message = object_in(event, "message")
        self._model = text_in(message.get("model"))
        self._count(object_in(message, "usage"))
        # A guess so far: the count is in `message_delta`.
        self._usage.pop("output_tokens", None)

    def _block_start(self, event: dict[str, Any]) -> Delta | None:
        block = object_in(event, "content_block")
        if _is_answer(block):
            self._begin_answer(_index(event))
            return None
        if not _is_call(block):
            return _spoken(text_in(block.get("text")), text_in(block.get("thinking")))
        call = self._tools.open()
        whole = block.get("input")
        self._calls[_index(event)] = (call, json_text(whole) if whole else "")
        piece = self._tools.add(
            call, text_in(block.get("id")), text_in(block.get("name"))
        )
        return Delta(tool_calls=(piece,))

    def _begin_answer(self, index: int) -> None:
        self._answers[index] = False
        if len(self._answers) > MAX_TOOL_CALLS:
            raise UnusableResponse(
                f"{self._endpoint.name!r}: more than {MAX_TOOL_CALLS} answers at once"
            )

    def _block_delta(self, event: dict[str, Any]) -> Delta | None:
        delta = object_in(event, "delta")
        if "partial_json" not in delta:
            return _spoken(text_in(delta.get("text")), text_in(delta.get("thinking")))
        arguments = text_in(delta["partial_json"])
        index = _index(event)
        if index in self._answers:
            self._answers[index] |= bool(arguments)
            return _spoken(arguments, "")
        opened = self._calls.get(index)
        if not opened or not arguments:
            return None  # of a tool that the provider itself runs, or the empty start
        return Delta(tool_calls=(self._tools.add(opened[0], arguments=arguments),))

    def _block_stop(self, event: dict[str, Any]) -> Delta | None:
        index = _index(event)
        if not self._answers.pop(index, True):
            return Delta(NO_ARGUMENTS)
        call, whole = self._calls.pop(index, (None, ""))
        if call is None or call.arguments or not whole:
            return None
        return Delta(tool_calls=(self._tools.add(call, arguments=whole),))

    def _message_delta(self, event: dict[str, Any]) -> Delta | None:
        self._count(object_in(event, "usage"))
        delta = object_in(event, "delta")
        self._reason = text_in(delta.get("stop_reason"))
        self._stop_sequence = text_in(delta.get("stop_sequence"))
        self._refusal = _refusal(self._endpoint, delta)
        calls = self._tools.close()
        return Delta(tool_calls=calls) if calls else None

    def _stop(self, event: dict[str, Any]) -> Finish:
        reason = _finish_reason(self._endpoint, self._reason, self._tools)
        model = self._model or self._endpoint.model
        usage = _usage(self._usage)
        return Finish(reason, model, usage, self._stop_sequence, self._refusal)

    def _count(self, usage: dict[str, Any]) -> None:
        """Keep the last word on every number."""
        for name in _COUNTS:
            count = count_in(usage, name)
            if count is not None:
                self._usage[name] = count


def _is_stop(payload: bytes | None) -> bool:
    try:
        event = load_json(payload or b"")
    except Unreadable:
        return False
    return isinstance(event, dict) and event.get("type") == "message_stop"


def _index(event: dict[str, Any]) -> int:
    """Return which block an event is about; -1 if it does not say."""
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _is_call(block: dict[str, Any]) -> bool:
    return block.get("type") == "tool_use" and not _is_answer(block)


def _is_answer(block: dict[str, Any]) -> bool:
    return block.get("type") == "tool_use" and block.get("name") == ANSWER_TOOL


def _text(block: dict[str, Any]) -> str:
    if _is_answer(block):
        return json_text(block.get("input"))
    return text_in(block.get("text"))


def _whole_call(tools: ToolCalls, block: dict[str, Any]) -> ToolCallDelta:
    arguments = json_text(block.get("input"))
    id_, name = text_in(block.get("id")), text_in(block.get("name"))
    return tools.add(tools.open(), id_, name, arguments)


def _spoken(text: str, reasoning: str) -> Delta | None:
    return Delta(text, reasoning) if text or reasoning else None


def _finish_reason(endpoint: Endpoint, reason: str, tools: ToolCalls) -> str:
    if not reason:
        raise Incomplete(f"{endpoint.name!r}: ended without a stop_reason")
    if reason not in _REASONS:  # pause_turn and whatever comes: not a whole answer
        raise Incomplete(f"{endpoint.name!r}: stopped for {excerpt(reason, endpoint)}")
    return tools.settle(_REASONS[reason])


def _refusal(endpoint: Endpoint, stopped: dict[str, Any]) -> str:
    """Return why an answer was refused, of what says why it stopped."""
    if stopped.get("stop_reason") != "refusal":
        return ""
    details = object_in(stopped, "stop_details")
    explanation = reason_given(text_in(details.get("explanation")), endpoint)
    category = excerpt(text_in(details.get("category")), endpoint)
    return explanation or (category and f"The provider refused it: {category}")


def _usage(counts: dict[str, Any]) -> TokenUsage | None:
    """Return the usage; the protocol counts cached input apart from the rest."""
    fresh = count_in(counts, "input_tokens")
    read = count_in(counts, "cache_read_input_tokens") or 0
    written = count_in(counts, "cache_creation_input_tokens") or 0
    prompt = None if fresh is None else fresh + read + written
    return usage_of(prompt, count_in(counts, "output_tokens"), cached=read)
