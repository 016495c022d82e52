"""OpenAI's chat completions: addresses, bodies, stream chunks, errors.

Source: OpenAI API reference, chat completions and streaming.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import orjson

from apps.simulator import embedding
from apps.simulator.problems import RETRY_AFTER_S, Kind, Problem
from apps.simulator.reply import (
    FILTERED_CATEGORY,
    SimulatedReply,
    SimulatedUsage,
    TokenPart,
)
from apps.simulator.request import SimulatedRequest, SimulatedToolCall
from apps.simulator.surfaces import openai_request
from apps.simulator.surfaces.base import (
    AnswerFraming,
    ApiPath,
    SimulatedCall,
    SimulatedFailure,
    call_id,
    event,
)

BASE_PATH = "/v1"
DONE = b"data: [DONE]\n\n"
BROKEN = b'data: {"id": "chatcmpl-0", "choices": [{"delta": \n\n'
REASONS = {"filtered": "content_filter"}
INVALID = "invalid_request_error"
ERRORS: dict[Kind, tuple[int, str, str]] = {
    Kind.BAD_REQUEST: (400, INVALID, "invalid_value"),
    Kind.CONTEXT_LENGTH: (400, INVALID, "context_length_exceeded"),
    Kind.CONTENT_FILTER: (400, INVALID, "content_filter"),
    Kind.UNAUTHORIZED: (401, INVALID, "invalid_api_key"),
    Kind.FORBIDDEN: (403, INVALID, "permission_denied"),
    Kind.QUOTA: (429, "insufficient_quota", "insufficient_quota"),
    Kind.NOT_FOUND: (404, INVALID, "not_found"),
    Kind.NO_MODEL: (404, INVALID, "model_not_found"),
    Kind.METHOD: (405, INVALID, "method_not_allowed"),
    Kind.TOO_LARGE: (413, INVALID, "request_too_large"),
    Kind.RATE_LIMITED: (429, "rate_limit_error", "rate_limit_exceeded"),
    Kind.SERVER: (500, "server_error", "server_error"),
    Kind.OVERLOADED: (503, "server_error", "overloaded"),
}
"""Status, `type` and `code`."""
HEADERS: dict[Kind, tuple[tuple[bytes, bytes], ...]] = {
    Kind.UNAUTHORIZED: ((b"www-authenticate", b"Bearer"),),
    Kind.RATE_LIMITED: ((b"retry-after", str(RETRY_AFTER_S).encode()),),
}


class OpenAISurface:
    """`/v1/chat/completions` and `/v1/models`."""

    def is_meant(self, call: SimulatedCall) -> bool:
        """Say yes: what no other protocol claims is this one's."""
        return True

    def place(self, call: SimulatedCall) -> ApiPath:
        """Return what the address stands for."""
        prefix = f"{BASE_PATH}/models"
        if call.path == f"{BASE_PATH}/chat/completions":
            return ApiPath("chat")
        if call.path == f"{BASE_PATH}/embeddings":
            return ApiPath("embeddings")
        if call.path == prefix:
            return ApiPath("models")
        if call.path.startswith(f"{prefix}/"):
            return ApiPath("model", call.path.removeprefix(f"{prefix}/"))
        return ApiPath("unknown")

    def key(self, call: SimulatedCall) -> str:
        """Return the bearer token."""
        scheme, _, key = call.headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" else ""

    def read(
        self, call: SimulatedCall, place: ApiPath, body: bytes
    ) -> SimulatedRequest:
        """Return the request in `body`. Raises: BadRequest."""
        return openai_request.read(body)

    def embeddings(self, body: bytes) -> dict[str, Any]:
        """Return the vectors of the texts in `body`. Raises: BadRequest."""
        return embedding.openai_answer(body)

    def framing(
        self, request: SimulatedRequest, model: str, digest: str
    ) -> AnswerFraming:
        """Return the framing of one completion."""
        has_usage_key = request.is_streamed and request.includes_usage
        return _Framing(digest, model, has_usage_key=has_usage_key)

    def failure(self, problem: Problem) -> SimulatedFailure:
        """Return the problem as an HTTP answer."""
        status, _, _ = ERRORS[problem.kind]
        return SimulatedFailure(status, error(problem), HEADERS.get(problem.kind, ()))

    def models(self, names: Sequence[str], call: SimulatedCall) -> dict[str, Any]:
        """Return the list of models, which has one page."""
        return {"object": "list", "data": [self.model(name) for name in names]}

    def model(self, name: str) -> dict[str, Any]:
        """Return one model as the list shows it."""
        return {"id": name, "object": "model", "created": 0, "owned_by": "simulator"}


def error(problem: Problem) -> dict[str, Any]:
    """Return an error object."""
    _, kind, code = ERRORS[problem.kind]
    message = problem.message
    if problem.kind is Kind.CONTEXT_LENGTH:
        message = (
            f"This model's maximum context length is {problem.most_tokens} tokens. "
            f"However, your messages resulted in {problem.found_tokens} tokens."
        )
    about = {"message": message, "type": kind, "param": problem.param, "code": code}
    return {"error": about}


class _Framing:
    """Everything that belongs to one completion: same id, time and model."""

    def __init__(self, digest: str, model: str, *, has_usage_key: bool) -> None:
        self._digest = digest
        self._model = model
        self._created = int(time.time())
        self._usage: dict[str, Any] = {"usage": None} if has_usage_key else {}
        opening = self._chunk([{"index": 0, "delta": 0, "finish_reason": None}])
        self._before, self._after = orjson.dumps(opening).split(b'"delta":0')

    def opening(self, counted: SimulatedUsage | None) -> bytes:
        """Return the chunk with the role."""
        return self._delta({"role": "assistant", "content": ""})

    def frame(self, part: TokenPart) -> bytes:
        """Return the chunk of one token."""
        if part.kind == "text":
            return self._delta({"content": part.text})
        if part.kind == "reasoning":
            return self._delta({"reasoning_content": part.text})
        if part.kind == "refusal":
            return self._delta({"refusal": part.text})
        piece: dict[str, Any] = {"index": part.call_index}
        if part.is_first and part.call is not None:
            whole = self._call(part.call_index, part.call)
            piece.update(whole, function={**whole["function"], "arguments": ""})
        else:
            piece["function"] = {"arguments": part.text}
        return self._delta({"tool_calls": [piece]})

    def closing(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the chunk with the reason, the usage if asked for, and the marker."""
        reason = REASONS.get(sent.finish_reason, sent.finish_reason)
        choice = {"index": 0, "delta": {}, "finish_reason": reason, **_filtered(sent)}
        end = event(self._chunk([choice]))
        if counted is not None and self._usage:
            end += event({**self._chunk([]), "usage": usage(counted)})
        return end + DONE

    def whole(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the body of an answer that is not streamed."""
        message: dict[str, Any] = {"role": "assistant", "content": sent.text}
        message["refusal"] = "".join(sent.refusal) or None
        if sent.reasoning:
            message["reasoning_content"] = "".join(sent.reasoning)
        if sent.calls:
            message["content"] = sent.text or None
            message["tool_calls"] = [
                self._call(*item) for item in enumerate(sent.calls)
            ]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": REASONS.get(sent.finish_reason, sent.finish_reason),
            **_filtered(sent),
        }
        body = {**self._chunk([choice]), "object": "chat.completion"}
        body.pop("usage", None)
        if counted is not None:
            body["usage"] = usage(counted)
        return orjson.dumps(body)

    def error_event(self, problem: Problem) -> bytes:
        """Return the error as it shows up inside a stream."""
        return event(error(problem))

    def broken_event(self) -> bytes:
        """Return a chunk that is no JSON, and the end marker."""
        return BROKEN + DONE

    def _call(self, index: int, call: SimulatedToolCall) -> dict[str, Any]:
        return {
            "id": call_id("call_", self._digest, index),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return b"".join(
            (
                b"data: ",
                self._before,
                b'"delta":',
                orjson.dumps(delta),
                self._after,
                b"\n\n",
            )
        )

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._digest}",
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._model,
            "choices": choices,
            **self._usage,
        }


def _filtered(sent: SimulatedReply) -> dict[str, Any]:
    """Return what a filter says of an answer, as on Azure; nothing if none did."""
    if sent.finish_reason != "filtered":
        return {}
    found = {"filtered": True, "severity": "medium"}
    passed = {"filtered": False, "severity": "safe"}
    return {"content_filter_results": {FILTERED_CATEGORY: found, "hate": passed}}


def usage(counted: SimulatedUsage) -> dict[str, Any]:
    """Return a usage object whose total is the sum of its parts."""
    return {
        "prompt_tokens": counted.prompt,
        "completion_tokens": counted.completion,
        "total_tokens": counted.prompt + counted.completion,
        "prompt_tokens_details": {"cached_tokens": counted.cached},
        "completion_tokens_details": {"reasoning_tokens": counted.reasoning},
    }
