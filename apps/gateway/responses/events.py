"""Writes the server-sent events of one response, numbered from 0.

Each event names its type twice, as the protocol wants it: in the `event:` line and in
the data. No `id:` lines: some clients crash on them.
"""

from __future__ import annotations

from typing import Any

import orjson


class EventWriter:
    """Numbers the events of one stream."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def write(self, event: str, fields: dict[str, Any]) -> bytes:
        """Return an event of type `event` with `fields`, ready to send."""
        number, self._next = self._next, self._next + 1
        data = orjson.dumps({"type": event, "sequence_number": number, **fields})
        return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
