"""Builds the items of a streamed answer, in the order in which they come.

At most one item is open at a time: clients glue together what interleaves. Progress is
sent until the answer begins. What arrives for a later tool call waits until the one
before it is whole. `finish` holds what was sent against the recorded answer. What an
item looks like on the wire is its protocol's affair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import orjson

from apps.engine.ports import ToolCallDelta, ToolCallPart
from apps.gateway.chat_completions.stream import unsent_text

IN_PROGRESS, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


class Diverged(Exception):
    """What was sent is not the beginning of the recorded answer."""


class AnswerParts(NamedTuple):
    """A recorded answer."""

    text: str
    calls: Sequence[ToolCallPart] = ()
    refusal: str = ""
    """Why there is no more of it; empty: it was not refused."""


class StreamedItem(ABC):
    """One item of an answer while it grows: begun, added to, ended.

    Every call returns the events that say so, ready to send.
    """

    def __init__(self) -> None:
        self.status = IN_PROGRESS
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """Return what has been sent of it."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    @abstractmethod
    def begin(self) -> bytes:
        """Return the events that announce the item."""

    @abstractmethod
    def add(self, text: str) -> bytes:
        """Return the event that adds `text`."""

    @abstractmethod
    def end(self, status: str = COMPLETED) -> bytes:
        """Return the events that close the item. Nothing may be added after it."""

    def refuse(self, reason: str) -> bytes:
        """Return the events that say why there is no more of a text.

        None, unless the protocol has a place for it in the item.
        """
        return b""


ItemT = TypeVar("ItemT", bound=StreamedItem)
MadeT = TypeVar("MadeT", bound=StreamedItem, covariant=True)


class ItemMaker(Protocol[MadeT]):
    """Makes the items of one answer; `place` is where an item stands, from 0 on."""

    def progress(self, place: int) -> MadeT:
        """Return an item for what the run is doing."""
        ...

    def text(self, place: int) -> MadeT:
        """Return an item for text of the answer."""
        ...

    def call(self, place: int, number: int, name: str) -> MadeT:
        """Return an item for the `number`-th tool call, from 0 on."""
        ...

    def refusal(self, place: int) -> MadeT:
        """Return an item for the reason why there is no text at all."""
        ...


class OutputWriter(Generic[ItemT]):
    """Turns the pieces of a run into items and their events."""

    def __init__(self, maker: ItemMaker[ItemT]) -> None:
        self._maker = maker
        self.items: list[ItemT] = []
        """All items as they stand."""
        self._open: ItemT | None = None
        self._progress: ItemT | None = None
        self._texts: list[ItemT] = []
        self._calls: list[ItemT] = []
        self._names: list[str] = []
        """Of the tool that each of the calls names."""
        self._waiting: list[ToolCallDelta] = []

    # --- while the run goes on -------------------------------------------------------

    def progress(self, line: str) -> bytes:
        """Return the events that tell a line of progress; none once there is more."""
        if not self.items:
            self._progress = self._maker.progress(0)
            return self._begin(self._progress) + self._progress.add(line)
        if self._open is not None and self._open is self._progress:
            return self._open.add(line)
        return b""

    def text(self, text: str) -> bytes:
        """Return the events that add to the answer's text."""
        if self._open is not None and self._is_text_open:
            return self._open.add(text)
        if self._calls:
            return b""  # comes with `finish`, which knows it from the record
        return self._begin_text() + self._add(text)

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
            sent = self._begin_call(piece.name)
        return sent + self._add(piece.arguments) if piece.arguments else sent

    # --- at its end ------------------------------------------------------------------

    def finish(self, answer: AnswerParts, status: str = COMPLETED) -> bytes:
        """Return the events that add what is missing and close everything.

        `status`: of the item that comes last. Raises: Diverged.
        """
        text, calls, refusal = answer
        if len(self._calls) > len(calls):
            raise Diverged
        said = "".join(item.text for item in self._texts)
        missing = unsent_text(text, said)
        if missing is None:
            raise Diverged
        sent = self._finish_begun(calls)
        if missing or not (said or calls or refusal):
            sent += b"" if self._is_text_open else self._begin_text()
            sent += self._add(missing) if missing else b""
        if refusal:
            sent += self._refuse(refusal)
        for call in calls[len(self._calls) :]:
            sent += self._begin_call(call["function"]["name"])
            sent += self._add(call["function"]["arguments"])
        return sent + self._close(status)

    def abandon(self) -> None:
        """Leave what is open unfinished. No event says so: nothing of it is done."""
        if self._open is not None:
            self._open.status = INCOMPLETE
            self._open = None

    def _finish_begun(self, calls: Sequence[ToolCallPart]) -> bytes:
        sent = b""
        for begun, known, call in zip(self._calls, self._names, calls, strict=False):
            name, whole = call["function"]["name"], call["function"]["arguments"]
            if name != known or not whole.startswith(begun.text):
                raise Diverged
            if rest := whole[len(begun.text) :]:
                if begun is not self._open:
                    raise Diverged
                sent += begun.add(rest)
        return sent

    # --- items -----------------------------------------------------------------------

    @property
    def _is_text_open(self) -> bool:
        return bool(self._texts) and self._open is self._texts[-1]

    def _begin(self, item: ItemT) -> bytes:
        closing = self._close()
        self.items.append(item)
        self._open = item
        return closing + item.begin()

    def _begin_text(self) -> bytes:
        self._texts.append(self._maker.text(len(self.items)))
        return self._begin(self._texts[-1])

    def _begin_call(self, name: str) -> bytes:
        number = len(self._calls)
        self._calls.append(self._maker.call(len(self.items), number, name))
        self._names.append(name)
        return self._begin(self._calls[-1])

    def _refuse(self, reason: str) -> bytes:
        if self._texts:
            return self._texts[-1].refuse(reason) if self._is_text_open else b""
        return self._begin(self._maker.refusal(len(self.items))) + self._add(reason)

    def _add(self, text: str) -> bytes:
        return b"" if self._open is None else self._open.add(text)

    def _close(self, status: str = COMPLETED) -> bytes:
        item, self._open = self._open, None
        return b"" if item is None else item.end(status)


def _is_whole(arguments: str) -> bool:
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return True
