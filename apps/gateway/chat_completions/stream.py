"""Encodes a run as the chunks of a streamed chat completion.

Guarantees: the pieces sent add up to the recorded answer or the stream ends with an
error; progress comes before the first of them or not at all; exactly one finish reason,
and `[DONE]` after complete answers only.
"""

from __future__ import annotations

from itertools import chain, groupby
from operator import itemgetter

import orjson

from apps.engine.events import RunCompleted
from apps.engine.ports import Progress, ToolCallDelta
from apps.gateway.chat_completions.chunks import DONE, ChunkWriter
from apps.gateway.chat_completions.documents import (
    conductor_document,
    finish_reason,
    usage_document,
)
from apps.gateway.errors import ApiFailure, failure_of_run
from apps.gateway.reasoning_progress import ProgressLines
from apps.gateway.step_events import step_event
from apps.gateway.tool_calls import SentCalls, with_ids
from apps.runs.types import RunSummary, Signal

ANSWER, PROGRESS, CALLS, EVENT = "answer", "progress", "calls", "event"
Piece = tuple[str, str | tuple[ToolCallDelta, ...]]
"""A kind, and a text; for CALLS pieces of tool calls."""
DIVERGED = ApiFailure(
    502, "answer_changed", "the final answer is not the text that was sent before"
)


class ChatStreamEncoder:
    """Makes chunks of the signals of one run. Satisfies `StreamEncoder`."""

    def __init__(
        self,
        writer: ChunkWriter,
        calls: SentCalls,
        *,
        wants_usage: bool,
        has_events: bool,
        shows_progress: bool,
    ) -> None:
        self._writer = writer
        self._wants_usage = wants_usage
        self._has_events = has_events
        self._lines = ProgressLines() if shows_progress else None
        self._pending: list[Piece] = []
        self._sent: list[str] = []
        self._sent_calls = calls

    def opening(self) -> bytes:
        """Return the chunk that opens the answer."""
        return self._writer.role()

    def heartbeat(self) -> bytes:
        """Return the chunk that changes nothing."""
        return self._writer.empty()

    def hear(self, signal: Signal) -> bool:
        """Take a signal; return True if it was encoded."""
        if not isinstance(signal, Progress):
            before = len(self._pending)
            if self._has_events and (event := step_event(signal)):
                self._pending.append((EVENT, event))
            if self._lines and (line := self._lines.line(signal)):
                self._pending.append((PROGRESS, line))
            return len(self._pending) > before
        if signal.is_answer:
            # Some clients take all they get for the answer; none expects thoughts in
            # the middle of it.
            self._lines = None
        if signal.answer:
            self._pending.append((ANSWER, signal.answer))
        if signal.tool_calls:
            self._pending.append((CALLS, signal.tool_calls))
        return signal.is_answer

    def take(self) -> bytes:
        """Return what is pending as chunks, neighbours of one kind joined."""
        pending, self._pending = self._pending, []
        if len(pending) == 1:
            return self._chunk(*pending[0])
        return b"".join(
            self._chunk(kind, _joined([piece for _, piece in pieces]))
            for kind, pieces in groupby(pending, key=itemgetter(0))
        )

    def ending(self, summary: RunSummary) -> bytes:
        """Return the rest of the answer and how it ended."""
        rest = self.take()
        end = summary.end
        if not isinstance(end, RunCompleted):
            return rest + _error(failure_of_run(end))
        missing = unsent_text(end.answer, "".join(self._sent))
        calls = self._sent_calls.missing(with_ids(end.tool_calls, summary.run_id))
        if missing is None or calls is None:
            return rest + _error(DIVERGED)
        if missing:
            rest += self._writer.content(missing)
        if calls:
            rest += self._writer.tool_calls(calls)
        if end.refusal:
            rest += self._writer.refusal(end.refusal)
        return rest + self._closing_chunks(summary, end) + DONE

    def _chunk(self, kind: str, piece: str | tuple[ToolCallDelta, ...]) -> bytes:
        if not isinstance(piece, str):
            return self._writer.tool_calls(self._sent_calls.pieces(piece))
        if kind is PROGRESS:
            return self._writer.reasoning(piece)
        if kind is EVENT:
            return piece.encode()
        self._sent.append(piece)
        return self._writer.content(piece)

    def _closing_chunks(self, summary: RunSummary, end: RunCompleted) -> bytes:
        reason = finish_reason(end)
        conductor = conductor_document(summary)
        if not self._wants_usage:
            return self._writer.finish(reason, conductor)
        usage = self._writer.usage(usage_document(summary), conductor)
        return self._writer.finish(reason, None) + usage


def _error(failure: ApiFailure) -> bytes:
    # Without `[DONE]`: that marker promises a complete answer.
    return b"data: " + orjson.dumps(failure.body()) + b"\n\n"


def _joined(
    pieces: list[str | tuple[ToolCallDelta, ...]],
) -> str | tuple[ToolCallDelta, ...]:
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if texts:
        return "".join(texts)
    return tuple(chain.from_iterable(p for p in pieces if not isinstance(p, str)))


def unsent_text(answer: str, sent: str) -> str | None:
    """Return what of `answer` has not been sent; None if `sent` is not its beginning.

    White space around the answer is forgiven: it may be trimmed once the end is known.
    """
    if answer.startswith(sent):
        return answer[len(sent) :]
    begun = sent.lstrip()
    if answer.startswith(begun):
        return answer[len(begun) :]
    return "" if begun.rstrip() == answer.strip() else None
