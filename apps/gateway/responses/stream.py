"""Tells a run as the typed events of a streamed response.

Guarantees: `response.created` comes first and exactly one of `response.completed`,
`response.incomplete` and `response.failed` ends the response; what the deltas of an
item add up to is what the item says when it is done. A failure is told twice, at last
by an event `error` whose data has the field `error`: without it some clients would take
what came for the whole answer.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from apps.engine.events import RunCompleted
from apps.engine.ports import Progress, ToolCallDelta
from apps.gateway.errors import Failure, failure_of_run
from apps.gateway.progress import ProgressLines
from apps.gateway.responses.documents import (
    Origin,
    broken_document,
    ended_document,
    running_document,
    status_of,
)
from apps.gateway.responses.events import EventWriter
from apps.gateway.responses.output import Diverged, OutputWriter
from apps.gateway.stream import DIVERGED
from apps.gateway.tool_calls import with_ids
from apps.runs.types import RunSummary, Signal

TEXT, CALL, PROGRESS = "text", "call", "progress"
Piece = tuple[str, str | ToolCallDelta]
TERMINAL = {"completed": "response.completed", "incomplete": "response.incomplete"}


class ResponseTeller:
    """Makes events of the signals of one run."""

    def __init__(self, origin: Origin, *, is_late: bool = False) -> None:
        self._origin = origin
        self._is_late = is_late
        """True: the beginning was missed, so the answer is told once it is whole."""
        self._events = EventWriter()
        self._output = OutputWriter(origin.run_id, self._events)
        self._lines = None if origin.is_direct else ProgressLines()
        self._pending: list[Piece] = []
        self._has_diverged = False

    def opening(self) -> bytes:
        """Return the two events that begin every response."""
        document = {"response": running_document(self._origin)}
        return self._events.write("response.created", document) + self._events.write(
            "response.in_progress", document
        )

    def heartbeat(self) -> bytes:
        """Return one more `response.in_progress`, which changes nothing."""
        document = {"response": running_document(self._origin)}
        return self._events.write("response.in_progress", document)

    def hear(self, signal: Signal) -> bool:
        """Take a signal; return True if it is told."""
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
        """Return the events that close all items and the response."""
        rest = self.take()
        end = summary.end
        if not isinstance(end, RunCompleted):
            return rest + self._fail(failure_of_run(end), summary)
        if self._has_diverged:
            return rest + self._fail(DIVERGED)
        try:
            calls = with_ids(end.tool_calls, summary.run_id)
            rest += self._output.finish(end.answer, calls, status_of(summary))
        except Diverged:
            return rest + self._fail(DIVERGED)
        document = ended_document(self._origin, summary, self._items())
        event = TERMINAL[document["status"]]
        return rest + self._events.write(event, {"response": document})

    def _told(self, kind: str, pieces: list[str | ToolCallDelta]) -> bytes:
        if kind == CALL:
            calls = [piece for piece in pieces if isinstance(piece, ToolCallDelta)]
            return b"".join(map(self._output.call, joined_calls(calls)))
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        tell = self._output.text if kind == TEXT else self._output.progress
        return tell(text)

    def _fail(self, failure: Failure, summary: RunSummary | None = None) -> bytes:
        self._output.abandon()
        if summary is None:
            document = broken_document(self._origin, failure, self._items())
        else:
            document = ended_document(self._origin, summary, self._items())
        failed = self._events.write("response.failed", {"response": document})
        error = failure.body()["error"]
        told = {name: error[name] for name in ("code", "message", "param")}
        return failed + self._events.write("error", {**told, "error": error})

    def _items(self) -> list[dict[str, object]]:
        return self._output.documents()


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
