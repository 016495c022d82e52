"""The content blocks of a streamed message, each as the events that tell it."""

from __future__ import annotations

import uuid
from abc import abstractmethod
from typing import Any

import orjson

from apps.gateway.anthropic.documents import (
    Document,
    signature_of,
    text_block,
    thinking_block,
    tool_use_block,
)
from apps.gateway.output import COMPLETED, StreamedItem
from apps.gateway.tool_calls import call_id


def write_event(name: str, **fields: Any) -> bytes:
    """Return an event of type `name`, ready to send.

    It names its type twice, as the protocol wants it: in the `event:` line and in the
    data. No `id:` lines: some clients crash on them.
    """
    data = orjson.dumps({"type": name, **fields})
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


class StreamedBlock(StreamedItem):
    """One content block while it grows."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self._index = index

    @abstractmethod
    def _empty(self) -> Document:
        """Return the block before there is anything in it."""

    @abstractmethod
    def _delta(self, text: str) -> Document:
        """Return what adds `text` to it."""

    def begin(self) -> bytes:
        return write_event(
            "content_block_start", index=self._index, content_block=self._empty()
        )

    def add(self, text: str) -> bytes:
        self._pieces.append(text)
        return self._told(self._delta(text))

    def end(self, status: str = COMPLETED) -> bytes:
        self.status = status
        return write_event("content_block_stop", index=self._index)

    def _told(self, delta: Document) -> bytes:
        return write_event("content_block_delta", index=self._index, delta=delta)


class ThinkingBlock(StreamedBlock):
    """What the run is doing."""

    def __init__(self, index: int, signature: str) -> None:
        super().__init__(index)
        self._signature = signature

    def _empty(self) -> Document:
        return thinking_block("", "")

    def _delta(self, text: str) -> Document:
        return {"type": "thinking_delta", "thinking": text}

    def end(self, status: str = COMPLETED) -> bytes:
        signed = {"type": "signature_delta", "signature": self._signature}
        return self._told(signed) + super().end(status)


class TextBlock(StreamedBlock):
    """Text of the answer."""

    def _empty(self) -> Document:
        return text_block("")

    def _delta(self, text: str) -> Document:
        return {"type": "text_delta", "text": text}


class ToolUseBlock(StreamedBlock):
    """A wish to have one of the caller's tools called."""

    def __init__(self, index: int, tool_use_id: str, name: str) -> None:
        super().__init__(index)
        self._id = tool_use_id
        self._name = name

    def _empty(self) -> Document:
        return tool_use_block(self._id, self._name, {})

    def _delta(self, text: str) -> Document:
        return {"type": "input_json_delta", "partial_json": text}


class MessageBlocks:
    """Makes the content blocks of one message."""

    def __init__(self, run_id: uuid.UUID) -> None:
        self._run_id = run_id

    def progress(self, place: int) -> StreamedBlock:
        """Return a block for what the run is doing."""
        return ThinkingBlock(place, signature_of(self._run_id))

    def text(self, place: int) -> StreamedBlock:
        """Return a block for text of the answer."""
        return TextBlock(place)

    def refusal(self, place: int) -> StreamedBlock:
        """Return a block for the reason why there is no text: a text as well."""
        return TextBlock(place)

    def call(self, place: int, number: int, name: str) -> StreamedBlock:
        """Return a block for the `number`-th tool call, from 0 on."""
        return ToolUseBlock(place, call_id(self._run_id, number), name)
