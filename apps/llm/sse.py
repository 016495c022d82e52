"""Server-sent events, sans I/O: bytes in, payloads out.

Owns the framing only; payloads stay bytes, so a character split between two chunks is
never decoded halfway. Memory is bounded by the longest event allowed.
Source: WHATWG HTML, section 9.2.6 (we keep `data` and drop `event`, `id` and `retry`).
"""

from __future__ import annotations

MAX_EVENT_BYTES = 4_000_000
"""No model sends a chunk like that; a runaway or hostile server might."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
EVENT_END = b"\n\n"
DATA = b"data: "


class EventTooLong(ValueError):
    """A line or an event exceeds the limit."""


class SseParser:
    """Collects the payloads of one event stream."""

    __slots__ = ("_data", "_is_fresh", "_pieces", "_size", "_skips_lf")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of a line that has not ended
        self._data: list[bytes] = []  # of an event that has not ended
        self._size = 0  # of both
        self._skips_lf = False  # the last chunk ended in CR: LF may follow
        self._is_fresh = True  # nothing but a byte order mark's part has come

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the payloads that `chunk` completes.

        Raises: EventTooLong.
        """
        # Nearly every chunk is a whole number of one-line events. Splitting those in C
        # takes a third of the time of going by lines.
        if (
            chunk.startswith(DATA)
            and chunk.endswith(EVENT_END)
            and not self._pieces
            and not self._data
            and b"\r" not in chunk
        ):
            self._is_fresh = self._skips_lf = False
            blocks = chunk[len(DATA) : -len(EVENT_END)].split(EVENT_END + DATA)
            if not any(b"\n" in block for block in blocks):
                return blocks
        return self._feed_lines(chunk)

    def end(self) -> bytes | None:
        """Return the payload of an event the stream ended in, if there is one.

        The standard drops it; some servers end without the last empty line, so the
        caller may look whether it is complete in itself.
        """
        line = b"".join(self._pieces)
        self._pieces = []
        self._take_line(line)
        return b"\n".join(self._data) if self._data else None

    def _feed_lines(self, chunk: bytes) -> list[bytes]:
        if self._skips_lf and chunk:
            self._skips_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\n" not in chunk and b"\r" not in chunk:
            self._keep(chunk)
            return []
        self._pieces.append(chunk)
        lines = b"".join(self._pieces).splitlines(keepends=True)
        self._pieces = []
        if self._is_fresh:
            self._is_fresh = False
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        rest = b"" if lines[-1].endswith((b"\n", b"\r")) else lines.pop()
        self._skips_lf = not rest and lines[-1].endswith(b"\r")
        events = self._take_lines(lines)
        self._size = sum(map(len, self._data))
        self._keep(rest)
        return events

    def _take_lines(self, lines: list[bytes]) -> list[bytes]:
        events = []
        for line in lines:
            content = line.rstrip(b"\r\n")
            if content:
                self._take_line(content)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        return events

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_EVENT_BYTES:
            raise EventTooLong(f"an event is longer than {MAX_EVENT_BYTES} bytes")
        if piece:
            self._pieces.append(piece)
