"""Builds the output items of a streamed response, in the order in which they come.

At most one item is open at a time: clients glue together what interleaves. Progress is
told until the answer begins. What arrives for a later tool call waits until the one
before it is whole. `finish` holds what was sent against the recorded answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import count

import orjson

from apps.engine.ports import ToolCallDelta, ToolCallPart
from apps.gateway.responses.events import EventWriter
from apps.gateway.responses.ids import CALL, MESSAGE, REASONING, item_id
from apps.gateway.responses.items import (
    COMPLETED,
    INCOMPLETE,
    Document,
    FunctionCall,
    Item,
    Message,
    Reasoning,
)
from apps.gateway.stream import unsent_text
from apps.gateway.tool_calls import call_id


class Diverged(Exception):
    """What was sent is not the beginning of the recorded answer."""


class OutputWriter:
    """Turns the pieces of a run into items and their events."""

    def __init__(self, run_id: uuid.UUID, events: EventWriter) -> None:
        self._run_id = run_id
        self._events = events
        self._items: list[Item] = []
        self._open: Item | None = None
        self._calls: list[FunctionCall] = []
        self._waiting: list[ToolCallDelta] = []
        self._numbers = {kind: count() for kind in (MESSAGE, REASONING, CALL)}

    def documents(self) -> list[Document]:
        """Return all items as they stand."""
        return [item.document() for item in self._items]

    # --- while the run goes on -------------------------------------------------------

    def progress(self, line: str) -> bytes:
        """Return the events that tell a line of progress; none once there is more."""
        if not self._items:
            return self._begin(self._reasoning()) + self._items[0].add(line)
        if isinstance(self._open, Reasoning):
            return self._open.add(line)
        return b""

    def text(self, text: str) -> bytes:
        """Return the events that add to the answer's text."""
        if isinstance(self._open, Message):
            return self._open.add(text)
        if self._calls:
            return b""  # comes with `finish`, which knows it from the record
        return self._begin(self._message()) + self._add(text)

    def call(self, piece: ToolCallDelta) -> bytes:
        """Return the events that a piece of a tool call brings about.

        Raises: Diverged if it belongs to a call that is closed.
        """
        if piece.name or piece.arguments:
            self._waiting.append(piece)
        sent = b""
        while ready := next(filter(self._may_send, self._waiting), None):
            self._waiting.remove(ready)
            sent += self._send_piece(ready)
        return sent

    def _may_send(self, piece: ToolCallDelta) -> bool:
        known = len(self._calls)
        if piece.index < known - 1:
            raise Diverged
        if piece.index == known - 1:
            return True
        is_next = piece.index == known and bool(piece.name)
        return is_next and (known == 0 or _is_whole(self._calls[-1].text))

    def _send_piece(self, piece: ToolCallDelta) -> bytes:
        sent = b""
        if piece.index == len(self._calls):
            sent = self._begin(self._call(piece.name))
        return sent + self._add(piece.arguments) if piece.arguments else sent

    # --- at its end ------------------------------------------------------------------

    def finish(
        self, answer: str, calls: Sequence[ToolCallPart], status: str = COMPLETED
    ) -> bytes:
        """Return the events that add what is missing and close everything.

        `status`: of the item that comes last. Raises: Diverged.
        """
        if len(self._calls) > len(calls):
            raise Diverged
        said = "".join(i.text for i in self._items if isinstance(i, Message))
        missing = unsent_text(answer, said)
        if missing is None:
            raise Diverged
        sent = self._finish_begun(calls)
        if missing or not (said or calls):
            is_open = isinstance(self._open, Message)
            sent += b"" if is_open else self._begin(self._message())
            sent += self._add(missing) if missing else b""
        for call in calls[len(self._calls) :]:
            sent += self._begin(self._call(call["function"]["name"]))
            sent += self._add(call["function"]["arguments"])
        return sent + self._close(status)

    def abandon(self) -> None:
        """Leave what is open unfinished. No event says so: nothing of it is done."""
        if self._open is not None:
            self._open.status = INCOMPLETE
            self._open = None

    def _finish_begun(self, calls: Sequence[ToolCallPart]) -> bytes:
        sent = b""
        for begun, call in zip(self._calls, calls, strict=False):
            name, whole = call["function"]["name"], call["function"]["arguments"]
            if name != begun.name or not whole.startswith(begun.text):
                raise Diverged
            if rest := whole[len(begun.text) :]:
                if begun is not self._open:
                    raise Diverged
                sent += begun.add(rest)
        return sent

    # --- items -----------------------------------------------------------------------

    def _begin(self, item: Item) -> bytes:
        closing = self._close()
        self._items.append(item)
        self._open = item
        return closing + item.begin()

    def _add(self, text: str) -> bytes:
        return b"" if self._open is None else self._open.add(text)

    def _close(self, status: str = COMPLETED) -> bytes:
        item, self._open = self._open, None
        return b"" if item is None else item.end(status)

    def _reasoning(self) -> Reasoning:
        return Reasoning(self._events, self._id(REASONING), len(self._items))

    def _message(self) -> Message:
        return Message(self._events, self._id(MESSAGE), len(self._items))

    def _call(self, name: str) -> FunctionCall:
        number = len(self._calls)
        call = FunctionCall(
            self._events,
            self._id(CALL),
            len(self._items),
            call_id=call_id(self._run_id, number),
            name=name,
        )
        self._calls.append(call)
        return call

    def _id(self, kind: str) -> str:
        return item_id(kind, self._run_id, next(self._numbers[kind]))


def _is_whole(arguments: str) -> bool:
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return True
