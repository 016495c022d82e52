"""The shapes of OpenAI's chat completions: bodies, stream chunks, errors.

Source: OpenAI API reference, chat completions and streaming.
"""

from __future__ import annotations

import time
from typing import Any

import orjson

DONE = b"data: [DONE]\n\n"


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """Return a usage object whose total is the sum of its parts."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def error(
    message: str, *, kind: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """Return an error object."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def event(data: dict[str, Any]) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + orjson.dumps(data) + b"\n\n"


class Framing:
    """Builds everything that belongs to one completion: same id, time and model."""

    def __init__(self, completion_id: str, model: str, *, has_usage_key: bool) -> None:
        self._id = completion_id
        self._model = model
        self._created = int(time.time())
        self._usage: dict[str, Any] = {"usage": None} if has_usage_key else {}
        opening = self._chunk([{"index": 0, "delta": 0, "finish_reason": None}])
        self._before, self._after = orjson.dumps(opening).split(b'"delta":0')

    def role(self) -> bytes:
        """Return the chunk that opens a stream."""
        return self._delta({"role": "assistant", "content": ""})

    def content(self, piece: str) -> bytes:
        """Return the chunk of one token."""
        return self._delta({"content": piece})

    def finish(self, reason: str) -> bytes:
        """Return the chunk that says why the text ended."""
        choice = {"index": 0, "delta": {}, "finish_reason": reason}
        return event(self._chunk([choice]))

    def usage(self, counted: dict[str, Any]) -> bytes:
        """Return the usage chunk."""
        return event({**self._chunk([]), "usage": counted})

    def completion(
        self, text: str, finish_reason: str, counted: dict[str, Any] | None
    ) -> bytes:
        """Return the body of an answer that is not streamed."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        body = {**self._chunk([choice]), "object": "chat.completion"}
        body.pop("usage", None)
        if counted is not None:
            body["usage"] = counted
        return orjson.dumps(body)

    def _delta(self, delta: dict[str, str]) -> bytes:
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
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._model,
            "choices": choices,
            **self._usage,
        }
