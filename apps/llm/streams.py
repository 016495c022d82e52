"""One streamed answer, sans I/O: pieces of bytes in, deltas and the finish out.

Guarantees the bounds of `apps.llm.bounds`, whatever the bytes are: memory for one event
and one piece, and time linear in what came.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from apps.llm import bounds
from apps.llm.errors import LlmError, UnusableResponse
from apps.llm.protocols.registry import protocol_of
from apps.llm.sse import SseParser, StreamTooLong
from apps.llm.types import Delta, Endpoint, Finish


class StreamedAnswer:
    """Reads the stream of one call."""

    __slots__ = (
        "_endpoint",
        "_max_characters",
        "_parser",
        "_reader",
        "_silent",
        "_size",
        "_written",
        "error",
    )

    def __init__(self, endpoint: Endpoint, max_characters: int) -> None:
        self._endpoint = endpoint
        self._max_characters = max_characters
        self._parser = SseParser()
        self._reader = protocol_of(endpoint).reader(endpoint)
        self._size = 0  # of all that came, in bytes
        self._silent = 0  # events without content, one after the other
        self._written = 0  # characters of the answer so far
        self.error: LlmError | None = None
        """What went wrong after all that has been returned."""

    def is_slow(self, piece: bytes) -> bool:
        """Say whether `piece` may complete an event that takes long to read."""
        return self._parser.held_bytes > bounds.LARGE_BYTES and b"\n" in piece

    def take(self, piece: bytes) -> list[Delta | Finish]:
        """Return what `piece` completes; nothing counts after a Finish or an error.

        What came together is returned together, so a process that falls behind has
        less to do for each token.
        """
        deltas: list[Delta] = []
        finish: Finish | None = None
        try:
            for payload in self._payloads(piece):
                item = self._reader.read(payload)
                if item is None:
                    self._bear_silence()
                elif isinstance(item, Finish):
                    finish = item
                    break
                else:
                    self._silent = 0
                    deltas.append(item)
        except LlmError as exc:
            self.error = exc
        items: list[Delta | Finish] = [*self._joined(deltas)]
        if finish is not None and self.error is None:
            items.append(finish)
        return items

    def end(self) -> Finish:
        """Return the finish of a stream that has ended. Raises: LlmError."""
        return self._reader.end(self._parser.end())

    def _payloads(self, piece: bytes) -> Iterable[bytes]:
        is_first = not self._size
        self._size += len(piece)
        limit = self._max_characters * bounds.STREAM_BYTES_PER_CHARACTER
        if self._size > limit:
            raise self._refused(f"more than {limit} bytes")
        if is_first and piece.lstrip()[:1] in (b"<", b"{"):
            raise self._refused("not an event stream")
        try:
            return self._parser.feed(piece)
        except StreamTooLong as exc:
            raise self._refused(str(exc)) from None

    def _bear_silence(self) -> None:
        self._silent += 1
        if self._silent > bounds.MAX_SILENT_EVENTS:
            raise self._refused(f"{bounds.MAX_SILENT_EVENTS} events without content")

    def _joined(self, deltas: list[Delta]) -> list[Delta]:
        if len(deltas) > 1:
            texts, reasonings, calls = zip(*deltas, strict=True)
            deltas = [Delta("".join(texts), "".join(reasonings), (*chain(*calls),))]
        for delta in deltas:
            self._written += written_characters(delta)
        if self._written > self._max_characters and self.error is None:
            self.error = self._refused(f"more than {self._max_characters} characters")
        return deltas

    def _refused(self, why: str) -> UnusableResponse:
        return UnusableResponse(f"{self._endpoint.name!r}: {why}")


def written_characters(delta: Delta) -> int:
    """Return how much of text, thinking and tool arguments is in `delta`."""
    text, reasoning, calls = delta
    written = len(text) + len(reasoning)
    return written + sum(len(call.arguments) for call in calls) if calls else written
