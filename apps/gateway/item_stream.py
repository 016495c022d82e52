"""Tells a run as a stream of items, whatever the protocol that they are written in.

Guarantees: what the deltas of an item add up to is what the record says of it, or the
stream ends with an error; nothing follows the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Generic

from apps.engine.events import RunCompleted
from apps.engine.ports import Progress, ToolCallDelta
from apps.gateway.chat_completions.stream import DIVERGED
from apps.gateway.errors import ApiFailure, failure_of_run
from apps.gateway.output import (
    AnswerParts,
    Diverged,
    ItemMaker,
    ItemT,
    OutputWriter,
)
from apps.gateway.reasoning_progress import ProgressLines
from apps.gateway.tool_calls import with_ids
from apps.runs.types import RunSummary, Signal

TEXT, CALL, PROGRESS = "text", "call", "progress"
Piece = tuple[str, str | ToolCallDelta]


class ItemStreamEncoder(ABC, Generic[ItemT]):
    """Makes events of the signals of one run. Satisfies `StreamEncoder`."""

    def __init__(
        self,
        maker: ItemMaker[ItemT],
        *,
        shows_progress: bool,
        is_late: bool = False,
    ) -> None:
        self._is_late = is_late
        """True: the beginning was missed, so the answer is sent once it is whole."""
        self._output = OutputWriter(maker)
        self._lines = ProgressLines() if shows_progress else None
        self._pending: list[Piece] = []
        self._has_diverged = False

    @abstractmethod
    def opening(self) -> bytes:
        """Return the events that begin the answer."""

    @abstractmethod
    def heartbeat(self) -> bytes:
        """Return an event that changes nothing."""

    def hear(self, signal: Signal) -> bool:
        """Take a signal; return True if clients see it."""
        if not isinstance(signal, Progress):
            line = self._lines.line(signal) if self._lines else ""
            if line:
                self._pending.append((PROGRESS, line))
            return bool(line)
        if self._is_late:
            return False
        if signal.answer:
            self._pending.append((TEXT, signal.answer))
        self._pending += [(CALL, piece) for piece in signal.tool_calls]
        return signal.is_answer

    def take(self) -> bytes:
        """Return what is pending as events, neighbours of one kind joined."""
        pending, self._pending = self._pending, []
        if self._has_diverged:
            return b""
        try:
            return b"".join(
                self._told(kind, [piece for _, piece in group])
                for kind, group in groupby(pending, key=itemgetter(0))
            )
        except Diverged:
            self._has_diverged = True
            return b""

    def ending(self, summary: RunSummary) -> bytes:
        """Return the events that close all items and the answer."""
        rest = self.take()
        end = summary.end
        if not isinstance(end, RunCompleted):
            return rest + self._failed(failure_of_run(end), summary)
        if self._has_diverged:
            return rest + self._failed(DIVERGED)
        try:
            calls = with_ids(end.tool_calls, summary.run_id)
            whole = AnswerParts(end.answer, calls, end.refusal)
            rest += self._output.finish(whole, self._status(summary))
        except Diverged:
            return rest + self._failed(DIVERGED)
        return rest + self._completed(summary, end)

    @abstractmethod
    def _status(self, summary: RunSummary) -> str:
        """Return the status of the item that comes last."""

    @abstractmethod
    def _completed(self, summary: RunSummary, end: RunCompleted) -> bytes:
        """Return what follows the items of a complete answer."""

    @abstractmethod
    def _fail(self, failure: ApiFailure, summary: RunSummary | None) -> bytes:
        """Return the events that tell a failure; None: it is not on record."""

    def _failed(self, failure: ApiFailure, summary: RunSummary | None = None) -> bytes:
        self._output.abandon()
        return self._fail(failure, summary)

    def _told(self, kind: str, pieces: list[str | ToolCallDelta]) -> bytes:
        if kind == CALL:
            calls = [piece for piece in pieces if isinstance(piece, ToolCallDelta)]
            return b"".join(map(self._output.call, joined_calls(calls)))
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        tell = self._output.text if kind == TEXT else self._output.progress
        return tell(text)


def joined_calls(pieces: list[ToolCallDelta]) -> list[ToolCallDelta]:
    """Return the pieces with neighbours of one call joined."""
    joined: list[ToolCallDelta] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is not None and last.index == piece.index:
            arguments = last.arguments + piece.arguments
            joined[-1] = replace(
                last,
                id=last.id or piece.id,
                name=last.name or piece.name,
                arguments=arguments,
            )
        else:
            joined.append(piece)
    return joined
