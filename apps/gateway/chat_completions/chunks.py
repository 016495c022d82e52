"""Writes the server-sent events of a streamed chat completion.

The constant part of a chunk is made once per stream; each chunk costs one escape of its
text and one join. No `id:` and no `event:` lines: some clients crash on them.
"""

from __future__ import annotations

from typing import Any

import orjson

DONE = b"data: [DONE]\n\n"
CLOSE = b"}\n\n"


class ChunkWriter:
    """Knows the id, time and model that all chunks of one stream share."""

    __slots__ = ("_choice", "_content", "_head", "_reasoning")

    OBJECT = "chat.completion.chunk"
    TAIL = b'},"logprobs":null,"finish_reason":null}]}\n\n'

    def __init__(self, *, completion_id: str, created: int, model: str) -> None:
        common = {
            "id": completion_id,
            "object": self.OBJECT,
            "created": created,
            "model": model,
        }
        self._head = b"data: " + orjson.dumps(common)[:-1]
        self._choice = self._head + b',"choices":[{"index":0,"delta":{'
        self._content = self._choice + b'"content":'
        self._reasoning = self._choice + b'"reasoning_content":'

    def role(self) -> bytes:
        """Return the chunk that opens the answer."""
        return self._choice + b'"role":"assistant","content":""' + self.TAIL

    def empty(self) -> bytes:
        """Return the chunk that only shows that the stream is alive."""
        return self._choice + self.TAIL

    def content(self, text: str) -> bytes:
        """Return a piece of the answer."""
        return self._content + orjson.dumps(text) + self.TAIL

    def reasoning(self, text: str) -> bytes:
        """Return a piece of progress, under both names that clients look for."""
        escaped = orjson.dumps(text)
        return self._reasoning + escaped + b',"reasoning":' + escaped + self.TAIL

    def refusal(self, text: str) -> bytes:
        """Return why there is no answer, or no more of it."""
        return self._choice + b'"refusal":' + orjson.dumps(text) + self.TAIL

    def tool_calls(self, pieces: list[dict[str, Any]]) -> bytes:
        """Return pieces of the answer's tool calls."""
        return self._choice + b'"tool_calls":' + orjson.dumps(pieces) + self.TAIL

    def finish(self, reason: str, conductor: dict[str, Any] | None) -> bytes:
        """Return the chunk that says why the answer ends."""
        choices = b'},"logprobs":null,"finish_reason":' + orjson.dumps(reason) + b"}]"
        extra = b"" if conductor is None else b',"conductor":' + orjson.dumps(conductor)
        return self._choice + choices + extra + CLOSE

    def usage(self, usage: dict[str, Any], conductor: dict[str, Any]) -> bytes:
        """Return the chunk that tells what the run used."""
        numbers = b',"choices":[],"usage":' + orjson.dumps(usage)
        return self._head + numbers + b',"conductor":' + orjson.dumps(conductor) + CLOSE
