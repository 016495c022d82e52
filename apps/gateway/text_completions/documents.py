"""Serializes a run as a text completion: whole, and as the chunks of a stream."""

from __future__ import annotations

from typing import Any

import orjson

from apps.engine.events import RunCompleted
from apps.gateway.chat_completions.chunks import CLOSE, ChunkWriter
from apps.gateway.chat_completions.documents import (
    conductor_document,
    created_of,
    finish_reason,
    usage_document,
)
from apps.runs.types import RunSummary

OBJECT = "text_completion"
"""Of the whole answer and of its chunks alike."""


def text_completion_document(
    summary: RunSummary, end: RunCompleted, *, model: str
) -> dict[str, Any]:
    """Return the body of a text completion that was not streamed."""
    return {
        "id": f"cmpl-{summary.run_id.hex}",
        "object": OBJECT,
        "created": created_of(summary.run_id),
        "model": model,
        "choices": [
            {
                "index": 0,
                "text": end.answer,
                "logprobs": None,
                "finish_reason": finish_reason(end),
            }
        ],
        "usage": usage_document(summary),
        "conductor": conductor_document(summary),
    }


class TextChunkWriter(ChunkWriter):
    """Writes the chunks of a text completion.

    This form has neither progress nor tools, so their chunks are never written.
    """

    __slots__ = ()

    OBJECT = OBJECT
    START = b',"choices":[{"index":0,"text":'
    TAIL = b',"logprobs":null,"finish_reason":null}]}\n\n'

    def role(self) -> bytes:
        """Return the chunk that opens the answer."""
        return self.content("")

    def empty(self) -> bytes:
        """Return the chunk that only shows that the stream is alive."""
        return self.content("")

    def content(self, text: str) -> bytes:
        """Return a piece of the answer."""
        return self._head + self.START + orjson.dumps(text) + self.TAIL

    def refusal(self, text: str) -> bytes:
        """Return nothing: this form has no place for it."""
        return b""

    def finish(self, reason: str, conductor: dict[str, Any] | None) -> bytes:
        """Return the chunk that says why the answer ends."""
        why = b'"","logprobs":null,"finish_reason":' + orjson.dumps(reason) + b"}]"
        extra = b"" if conductor is None else b',"conductor":' + orjson.dumps(conductor)
        return self._head + self.START + why + extra + CLOSE
