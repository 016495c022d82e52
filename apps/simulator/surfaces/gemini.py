"""Google's Gemini: addresses, bodies, stream events, errors.

A stream has no end marker: it is complete after a `finishReason`, when it ends as HTTP
says it should. Source: Gemini API reference, generateContent, models, errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from apps.simulator import embedding
from apps.simulator.problems import RETRY_AFTER_S, Kind, Problem
from apps.simulator.reply import SimulatedReply, SimulatedUsage, TokenPart
from apps.simulator.request import InvalidRequest, SimulatedRequest, SimulatedToolCall
from apps.simulator.surfaces import gemini_request
from apps.simulator.surfaces.base import (
    AnswerFraming,
    ApiPath,
    SimulatedCall,
    SimulatedFailure,
    event,
    page_size,
)

PATH = re.compile(
    r"/v1(?:beta)?/models(?:/(?P<name>[^/:]+)"
    r"(?P<verb>:generateContent|:streamGenerateContent|:batchEmbedContents)?)?"
)
STREAM = ":streamGenerateContent"
EMBED = ":batchEmbedContents"
KEY_HEADER = "x-goog-api-key"
REASONS = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "filtered": "SAFETY",
}
INVALID = "INVALID_ARGUMENT"
ERRORS: dict[Kind, tuple[int, str]] = {
    Kind.BAD_REQUEST: (400, INVALID),
    Kind.CONTEXT_LENGTH: (400, INVALID),
    Kind.CONTENT_FILTER: (400, INVALID),
    Kind.UNAUTHORIZED: (401, "UNAUTHENTICATED"),
    Kind.FORBIDDEN: (403, "PERMISSION_DENIED"),
    Kind.QUOTA: (429, "RESOURCE_EXHAUSTED"),
    Kind.NOT_FOUND: (404, "NOT_FOUND"),
    Kind.NO_MODEL: (404, "NOT_FOUND"),
    Kind.METHOD: (405, "UNIMPLEMENTED"),
    Kind.TOO_LARGE: (413, INVALID),
    Kind.RATE_LIMITED: (429, "RESOURCE_EXHAUSTED"),
    Kind.SERVER: (500, "INTERNAL"),
    Kind.OVERLOADED: (503, "UNAVAILABLE"),
}
"""Code and `status`."""
RETRY_INFO = {
    "@type": "type.googleapis.com/google.rpc.RetryInfo",
    "retryDelay": f"{RETRY_AFTER_S}s",
}
QUOTA_FAILURE = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
}
PAGE = 50
MAX_PAGE = 1000
BROKEN = b'data: {"candidates": [{"content": \r\n\r\n'


class GeminiSurface:
    """`/v1beta/models` and the methods of each model; `/v1` is the same."""

    def is_meant(self, call: SimulatedCall) -> bool:
        """Say whether the call is one of this protocol's own."""
        is_own_path = call.path.startswith("/v1beta/") or call.path.endswith(
            (":generateContent", STREAM, EMBED)
        )
        return is_own_path or KEY_HEADER in call.headers

    def place(self, call: SimulatedCall) -> ApiPath:
        """Return what the address stands for."""
        match = PATH.fullmatch(call.path)
        if match is None:
            return ApiPath("unknown")
        if match["verb"] == EMBED:
            return ApiPath("embeddings", match["name"])
        if match["verb"]:
            return ApiPath("chat", match["name"])
        return ApiPath("model", match["name"]) if match["name"] else ApiPath("models")

    def key(self, call: SimulatedCall) -> str:
        """Return the key of its own header or in the address."""
        return call.headers.get(KEY_HEADER, "") or call.query.get("key", "")

    def read(
        self, call: SimulatedCall, place: ApiPath, body: bytes
    ) -> SimulatedRequest:
        """Return the request in `body`. Raises: BadRequest."""
        is_streamed = call.path.endswith(STREAM)
        if is_streamed and call.query.get("alt") != "sse":
            raise InvalidRequest("a stream comes only as events here", "alt")
        return gemini_request.read(body, place.name, is_streamed=is_streamed)

    def embeddings(self, body: bytes) -> dict[str, Any]:
        """Return the vectors of the texts in `body`. Raises: BadRequest."""
        return embedding.gemini_answer(body)

    def framing(
        self, request: SimulatedRequest, model: str, digest: str
    ) -> AnswerFraming:
        """Return the framing of one answer."""
        return _Framing(digest, model)

    def failure(self, problem: Problem) -> SimulatedFailure:
        """Return the problem as an HTTP answer."""
        code, _ = ERRORS[problem.kind]
        is_limit = problem.kind is Kind.RATE_LIMITED
        headers = ((b"retry-after", str(RETRY_AFTER_S).encode()),) if is_limit else ()
        return SimulatedFailure(code, error(problem), headers)

    def models(self, names: Sequence[str], call: SimulatedCall) -> dict[str, Any]:
        """Return the page of the list that `pageSize` and `pageToken` ask for."""
        size = page_size(call, "pageSize", PAGE, MAX_PAGE)
        token = call.query.get("pageToken", "0")
        if not token.isascii() or not token.isdigit():
            raise InvalidRequest("no such page", "pageToken")
        end = int(token) + size
        page = {"models": [self.model(name) for name in names[int(token) : end]]}
        return page if end >= len(names) else {**page, "nextPageToken": str(end)}

    def model(self, name: str) -> dict[str, Any]:
        """Return one model as the list shows it."""
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }


def error(problem: Problem) -> dict[str, Any]:
    """Return an error object."""
    code, status = ERRORS[problem.kind]
    message = problem.message
    details: list[dict[str, Any]] = []
    match problem.kind:
        case Kind.CONTEXT_LENGTH:
            message = (
                f"The input token count ({problem.found_tokens}) exceeds the maximum "
                f"number of tokens allowed ({problem.most_tokens})."
            )
        case Kind.RATE_LIMITED:
            details.append(RETRY_INFO)
        case Kind.QUOTA:
            details.append(QUOTA_FAILURE)
    if problem.param:
        message = f"{problem.param}: {message}"
    about: dict[str, Any] = {"code": code, "message": message, "status": status}
    return {"error": {**about, "details": details} if details else about}


class _Framing:
    """Everything that belongs to one answer; counts what was sent."""

    def __init__(self, digest: str, model: str) -> None:
        self._digest = digest
        self._model = model
        self._prompt: SimulatedUsage | None = None
        self._count = 0

    def opening(self, counted: SimulatedUsage | None) -> bytes:
        """Return nothing: a stream begins with its first token."""
        self._prompt = counted
        return b""

    def frame(self, part: TokenPart) -> bytes:
        """Return one token; a call is sent whole, in place of its last one."""
        self._count += 1
        match part.kind:
            case "text":
                return self._parts([{"text": part.text}])
            case "reasoning":
                return self._parts([{"text": part.text, "thought": True}])
            case "call" if part.is_last and part.call is not None:
                return self._parts(_calls([part.call]))
        return b""

    def closing(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the event with the reason and the whole usage."""
        return _event(self._response([{"text": ""}], sent, counted))

    def whole(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the body of an answer that is not streamed."""
        parts: list[dict[str, Any]] = []
        if sent.reasoning:
            parts.append({"text": "".join(sent.reasoning), "thought": True})
        if sent.pieces:
            parts.append({"text": sent.text})
        parts += _calls(sent.calls)
        return orjson.dumps(self._response(parts, sent, counted))

    def error_event(self, problem: Problem) -> bytes:
        """Return the error as it shows up inside a stream."""
        return _event(error(problem))

    def broken_event(self) -> bytes:
        """Return an event that is no JSON, and one that ends the answer."""
        return BROKEN + self.closing(SimulatedReply(()), self._prompt)

    def _parts(self, parts: list[dict[str, Any]]) -> bytes:
        if not parts:
            return b""
        counted = self._prompt and SimulatedUsage(self._prompt.prompt, self._count)
        return _event(self._response(parts, None, counted))

    def _response(
        self,
        parts: list[dict[str, Any]],
        sent: SimulatedReply | None,
        counted: SimulatedUsage | None,
    ) -> dict[str, Any]:
        body: dict[str, Any]
        if sent is not None and sent.refusal:
            why = {"blockReasonMessage": sent.explanation}
            body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT", **why}}
        else:
            content: dict[str, Any] = {"role": "model"}
            if parts:
                content["parts"] = parts
            candidate: dict[str, Any] = {"content": content, "index": 0}
            if sent is not None:
                candidate["finishReason"] = REASONS[sent.finish_reason]
                if sent.explanation:
                    candidate["finishMessage"] = sent.explanation
            body = {"candidates": [candidate]}
        if counted is not None:
            body["usageMetadata"] = usage(counted)
        return {**body, "modelVersion": self._model, "responseId": self._digest}


def _event(data: dict[str, Any]) -> bytes:
    return event(data, end=b"\r\n")


def _calls(calls: Sequence[SimulatedToolCall]) -> list[dict[str, Any]]:
    """Return the calls that are whole: one that was cut off never shows up."""
    parts: list[dict[str, Any]] = []
    for call in calls:
        try:
            arguments = orjson.loads(call.arguments)
        except orjson.JSONDecodeError:
            continue
        about = {"name": call.name, "args": arguments}
        parts.append({"functionCall": about})
    return parts


def usage(counted: SimulatedUsage) -> dict[str, Any]:
    """Return a usage object: what was thought is counted apart from the answer."""
    told = {
        "promptTokenCount": counted.prompt,
        "candidatesTokenCount": counted.completion - counted.reasoning,
        "totalTokenCount": counted.prompt + counted.completion,
    }
    if counted.cached:
        told["cachedContentTokenCount"] = counted.cached
    if counted.reasoning:
        told["thoughtsTokenCount"] = counted.reasoning
    return told
