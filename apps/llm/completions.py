"""The chat completions protocol, sans I/O: requests to bytes, chunks to values.

Guarantees that a streamed answer counts as complete only after a `finish_reason` and
an end marker: `[DONE]`, or the usage chunk that follows the finish.
"""

from __future__ import annotations

from typing import Any

import orjson

from apps.llm.errors import BadRequest, BadResponse, Incomplete, ServerFailed
from apps.llm.faults import error_event
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish, TokenUsage

DONE = b"[DONE]"
MAX_BELIEVABLE_TOKENS = 1_000_000_000
"""A larger count is an error of the provider, and would not fit where it is summed."""


def request_body(endpoint: Endpoint, request: ChatRequest, *, is_stream: bool) -> bytes:
    """Return the JSON body; only what is set is in it.

    Raises: BadRequest if a value has no form in JSON.
    """
    fields: dict[str, Any] = {
        "model": endpoint.model,
        "messages": list(request.messages),
    }
    optional = {
        endpoint.max_tokens_field: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        "seed": request.seed,
        "response_format": request.response_format,
    }
    fields.update((key, value) for key, value in optional.items() if value is not None)
    if is_stream:
        fields["stream"] = True
        fields["stream_options"] = {"include_usage": True}
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError as exc:
        raise BadRequest(f"the request has no form in JSON: {exc}") from exc


def read_answer(endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
    """Return the one JSON answer to a request without a stream.

    Raises: BadResponse, Incomplete, or what an error object in it says.
    """
    answer = _load(endpoint, body)
    choice = _first_choice(endpoint, answer)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise BadResponse(f"{endpoint.name!r}: an answer without a message")
    reason = _finish_reason(endpoint, choice)
    if not reason:
        raise Incomplete(f"{endpoint.name!r}: an answer without a finish_reason")
    model = _text(answer.get("model")) or endpoint.model
    return _delta(message), Finish(reason, model, _usage(answer.get("usage")))


class AnswerReader:
    """Turns the payloads of one event stream into deltas and the finish."""

    __slots__ = ("_endpoint", "_finish_reason", "_model", "_usage")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._finish_reason = ""
        self._model = ""
        self._usage: TokenUsage | None = None

    def read(self, payload: bytes) -> Delta | Finish | None:
        """Return what `payload` says; None if it says nothing that counts.

        Nothing may be read after a Finish. Raises: BadResponse, Incomplete, or what an
        error event says.
        """
        if payload == DONE:
            return self._finish()
        if not payload or payload.isspace():
            return None
        chunk = _load(self._endpoint, payload)
        usage = chunk.get("usage")
        if usage is not None:
            self._usage = _usage(usage)
        self._model = self._model or _text(chunk.get("model"))
        choice = _first_choice(self._endpoint, chunk)
        if choice is None:
            is_end = usage is not None and self._finish_reason
            return self._finish() if is_end else None
        return self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Any]) -> Delta | None:
        if choice.get("finish_reason"):
            self._finish_reason = _finish_reason(self._endpoint, choice)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return None
        piece = _delta(delta)
        return piece if piece.text or piece.reasoning else None

    def _finish(self) -> Finish:
        if not self._finish_reason:
            raise Incomplete(f"{self._endpoint.name!r}: ended without a finish_reason")
        model = self._model or self._endpoint.model
        return Finish(self._finish_reason, model, self._usage)


def _load(endpoint: Endpoint, payload: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(payload)
    except orjson.JSONDecodeError as exc:
        raise BadResponse(f"{endpoint.name!r}: not JSON: {exc.msg}") from None
    if not isinstance(value, dict):
        raise BadResponse(f"{endpoint.name!r}: expected a JSON object")
    if value.get("error"):
        raise error_event(endpoint, value["error"])
    if value.get("object") == "error":  # vLLM, before it wrapped its errors
        raise error_event(endpoint, value)
    return value


def _first_choice(endpoint: Endpoint, value: dict[str, Any]) -> dict[str, Any] | None:
    choices = value.get("choices")
    if not choices:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise BadResponse(f"{endpoint.name!r}: choices are not a list of objects")
    return choices[0]


def _finish_reason(endpoint: Endpoint, choice: dict[str, Any]) -> str:
    reason = _text(choice.get("finish_reason"))
    if reason == "error":  # a router's word for: the model behind me failed
        raise ServerFailed(f"{endpoint.name!r} failed during its answer")
    return reason


def _delta(message: dict[str, Any]) -> Delta:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Delta(_text(message.get("content")), _text(reasoning))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # content in parts; those that are no text are left out
        return "".join(_text(p.get("text")) for p in value if isinstance(p, dict))
    return ""


def _usage(value: Any) -> TokenUsage | None:
    if not isinstance(value, dict):
        return None
    prompt = _count(value, "prompt_tokens")
    completion = _count(value, "completion_tokens")
    if prompt is None or completion is None:
        return None
    cached = _count(value.get("prompt_tokens_details"), "cached_tokens") or 0
    reasoned = _count(value.get("completion_tokens_details"), "reasoning_tokens") or 0
    # A part is never more than its whole, whatever the provider says: prices are
    # computed from the difference.
    return TokenUsage(
        prompt, completion, min(cached, prompt), min(reasoned, completion)
    )


def _count(value: Any, key: str) -> int | None:
    count = value.get(key) if isinstance(value, dict) else None
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    return count if 0 <= count <= MAX_BELIEVABLE_TOKENS else None
