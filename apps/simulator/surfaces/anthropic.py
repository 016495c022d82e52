"""Anthropic's messages: addresses, bodies, stream events, errors.

Source: Anthropic API reference, messages, streaming, errors and models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apps.simulator.problems import RETRY_AFTER_S, Kind, Problem
from apps.simulator.reply import SimulatedReply, SimulatedUsage, TokenPart
from apps.simulator.request import InvalidRequest, SimulatedRequest, SimulatedToolCall
from apps.simulator.surfaces import anthropic_request
from apps.simulator.surfaces.base import (
    AnswerFraming,
    ApiPath,
    SimulatedCall,
    SimulatedFailure,
    call_id,
    event,
    page_size,
)

BASE_PATH = "/v1"
VERSION_HEADER = "anthropic-version"
REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "filtered": "refusal",
}
INVALID = "invalid_request_error"
ERRORS: dict[Kind, tuple[int, str]] = {
    Kind.BAD_REQUEST: (400, INVALID),
    Kind.CONTEXT_LENGTH: (400, INVALID),
    Kind.CONTENT_FILTER: (400, INVALID),
    Kind.UNAUTHORIZED: (401, "authentication_error"),
    Kind.FORBIDDEN: (403, "permission_error"),
    Kind.QUOTA: (402, "billing_error"),
    Kind.NOT_FOUND: (404, "not_found_error"),
    Kind.NO_MODEL: (404, "not_found_error"),
    Kind.METHOD: (405, INVALID),
    Kind.TOO_LARGE: (413, "request_too_large"),
    Kind.RATE_LIMITED: (429, "rate_limit_error"),
    Kind.SERVER: (500, "api_error"),
    Kind.OVERLOADED: (529, "overloaded_error"),
}
"""Status and `type`."""
PAGE = 20
MAX_PAGE = 1000
SIGNATURE = "c2ltdWxhdGVk"
"""What signs a block of thinking."""
PING = event({"type": "ping"}, "ping")


class AnthropicSurface:
    """`/v1/messages`, and `/v1/models` for who names a version of this API."""

    def is_meant(self, call: SimulatedCall) -> bool:
        """Say whether the call is one of this protocol's own."""
        is_own_path = call.path == f"{BASE_PATH}/messages"
        return is_own_path or VERSION_HEADER in call.headers

    def place(self, call: SimulatedCall) -> ApiPath:
        """Return what the address stands for."""
        prefix = f"{BASE_PATH}/models"
        if call.path == f"{BASE_PATH}/messages":
            return ApiPath("chat")
        if call.path == prefix:
            return ApiPath("models")
        if call.path.startswith(f"{prefix}/"):
            return ApiPath("model", call.path.removeprefix(f"{prefix}/"))
        return ApiPath("unknown")

    def key(self, call: SimulatedCall) -> str:
        """Return the key of its own header."""
        return call.headers.get("x-api-key", "")

    def read(
        self, call: SimulatedCall, place: ApiPath, body: bytes
    ) -> SimulatedRequest:
        """Return the request in `body`. Raises: BadRequest."""
        if VERSION_HEADER not in call.headers:
            raise InvalidRequest("header is required", VERSION_HEADER)
        return anthropic_request.read(body)

    def embeddings(self, body: bytes) -> dict[str, Any]:
        """Refuse: this protocol has none. Raises: BadRequest."""
        raise InvalidRequest("There are no embeddings here.")

    def framing(
        self, request: SimulatedRequest, model: str, digest: str
    ) -> AnswerFraming:
        """Return the framing of one message."""
        return _Framing(digest, model)

    def failure(self, problem: Problem) -> SimulatedFailure:
        """Return the problem as an HTTP answer."""
        status, _ = ERRORS[problem.kind]
        is_limit = problem.kind is Kind.RATE_LIMITED
        headers = ((b"retry-after", str(RETRY_AFTER_S).encode()),) if is_limit else ()
        return SimulatedFailure(status, error(problem), headers)

    def models(self, names: Sequence[str], call: SimulatedCall) -> dict[str, Any]:
        """Return the page of the list that `limit` and `after_id` ask for."""
        limit = page_size(call, "limit", PAGE, MAX_PAGE)
        after = call.query.get("after_id", "")
        if after and after not in names:
            raise InvalidRequest("no such model", "after_id")
        start = list(names).index(after) + 1 if after else 0
        shown = names[start : start + limit]
        return {
            "data": [self.model(name) for name in shown],
            "has_more": start + limit < len(names),
            "first_id": shown[0] if shown else None,
            "last_id": shown[-1] if shown else None,
        }

    def model(self, name: str) -> dict[str, Any]:
        """Return one model as the list shows it."""
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
        }


def error(problem: Problem) -> dict[str, Any]:
    """Return an error object."""
    message = problem.message
    if problem.kind is Kind.CONTEXT_LENGTH:
        found, most = problem.found_tokens, problem.most_tokens
        message = f"prompt is too long: {found} tokens > {most} maximum"
    if problem.param:
        message = f"{problem.param}: {message}"
    about = {"type": ERRORS[problem.kind][1], "message": message}
    return {"type": "error", "error": about, "request_id": "req_simulated"}


class _Framing:
    """Everything that belongs to one message; knows which block is open."""

    def __init__(self, digest: str, model: str) -> None:
        self._digest = digest
        self._model = model
        self._block = -1
        """Index of the latest block."""
        self._open = ""
        """What the open block is for; a new call always opens one."""

    def opening(self, counted: SimulatedUsage | None) -> bytes:
        """Return `message_start`, with the input's usage, and a ping."""
        message = self._message([], None)
        if counted is not None:
            message["usage"] = usage(counted) | {"output_tokens": 1}
        start = {"type": "message_start", "message": message}
        return event(start, "message_start") + PING

    def frame(self, part: TokenPart) -> bytes:
        """Return one token, after the events that close and open blocks.

        Words of a refusal are no content: they come with the reason.
        """
        if part.kind == "refusal":
            return b""
        wanted = f"call {part.call_index}" if part.kind == "call" else part.kind
        before = b"" if wanted == self._open else self._switch(wanted, part)
        match part.kind:
            case "call":
                delta = {"type": "input_json_delta", "partial_json": part.text}
            case "reasoning":
                delta = {"type": "thinking_delta", "thinking": part.text}
            case _:
                delta = {"type": "text_delta", "text": part.text}
        return before + self._delta(delta)

    def closing(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the end of the last block, the reason, the usage, `message_stop`."""
        reason, word = _reason(sent)
        about: dict[str, Any] = {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": word, **_details(sent)},
        }
        if counted is not None:
            about["usage"] = {"output_tokens": counted.completion}
        ends = event(about, "message_delta")
        return self._close() + ends + event({"type": "message_stop"}, "message_stop")

    def whole(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the body of an answer that is not streamed."""
        blocks: list[dict[str, Any]] = []
        if sent.reasoning:
            thinking = "".join(sent.reasoning)
            signed = {"thinking": thinking, "signature": SIGNATURE}
            blocks.append({"type": "thinking", **signed})
        if sent.text:
            blocks.append({"type": "text", "text": sent.text})
        for index, call in enumerate(sent.calls):
            block = self._call(index, call)
            blocks.append(block | {"input": _arguments(call)})
        message = self._message(blocks, sent)
        if counted is not None:
            message["usage"] = usage(counted)
        return orjson.dumps(message)

    def error_event(self, problem: Problem) -> bytes:
        """Return the error as it shows up inside a stream."""
        return event(error(problem), "error")

    def broken_event(self) -> bytes:
        """Return an event that is no JSON, and the end marker."""
        broken = b'event: content_block_delta\ndata: {"type": "content_block_de\n\n'
        return broken + event({"type": "message_stop"}, "message_stop")

    def _switch(self, wanted: str, part: TokenPart) -> bytes:
        before = self._close()
        self._block += 1
        self._open = wanted
        if part.call is not None:
            block = self._call(part.call_index, part.call)
        elif part.kind == "reasoning":
            block = {"type": "thinking", "thinking": "", "signature": ""}
        else:
            block = {"type": "text", "text": ""}
        about = {"index": self._block, "content_block": block}
        start = {"type": "content_block_start", **about}
        return before + event(start, "content_block_start")

    def _close(self) -> bytes:
        if not self._open:
            return b""
        signature = {"type": "signature_delta", "signature": SIGNATURE}
        signed = self._delta(signature) if self._open == "reasoning" else b""
        self._open = ""
        stop = {"type": "content_block_stop", "index": self._block}
        return signed + event(stop, "content_block_stop")

    def _delta(self, delta: dict[str, str]) -> bytes:
        about = {"type": "content_block_delta", "index": self._block, "delta": delta}
        return event(about, "content_block_delta")

    def _call(self, index: int, call: SimulatedToolCall) -> dict[str, Any]:
        identity = call_id("toolu_", self._digest, index)
        return {"type": "tool_use", "id": identity, "name": call.name, "input": {}}

    def _message(
        self, blocks: list[dict[str, Any]], sent: SimulatedReply | None
    ) -> dict[str, Any]:
        reason, word = _reason(sent) if sent else (None, None)
        return {
            "id": f"msg_{self._digest}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": blocks,
            "stop_reason": reason,
            "stop_sequence": word,
            **(_details(sent) if sent else {}),
        }


def _details(sent: SimulatedReply) -> dict[str, Any]:
    """Return why the rest is missing; nothing if the answer is whole."""
    if not sent.explanation:
        return {}
    about = {"category": "general_harms", "explanation": sent.explanation}
    return {"stop_details": {"type": "refusal", **about}}


def _reason(sent: SimulatedReply) -> tuple[str, str | None]:
    if sent.refusal:
        return "refusal", None
    if sent.stop_word and sent.finish_reason == "stop":
        return "stop_sequence", sent.stop_word
    return REASONS[sent.finish_reason], None


def _arguments(call: SimulatedToolCall) -> dict[str, Any]:
    """Return the arguments; a call that was cut off has none yet."""
    try:
        value = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def usage(counted: SimulatedUsage) -> dict[str, Any]:
    """Return a usage object: input without what came from the cache."""
    return {
        "input_tokens": counted.prompt - counted.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": counted.cached,
        "output_tokens": counted.completion,
    }
