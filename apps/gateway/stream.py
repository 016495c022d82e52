"""Streams one run to one client, at the client's pace.

Guarantees: the first chunk goes out as soon as the run is on record; no silence longer
than the heartbeat; what arrives while the client is slow is joined, so at most one
answer is held; the texts sent add up to the recorded answer or the stream ends with an
error; exactly one finish reason, and `[DONE]` after complete answers only.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter

from apps.engine.events import RunCompleted
from apps.engine.ports import Progress, ToolCallDelta
from apps.gateway.chunks import DONE, ChunkWriter
from apps.gateway.documents import conductor_document, finish_reason, usage_document
from apps.gateway.errors import (
    CLIENT_STALLED,
    Failure,
    failure_of_run,
)
from apps.gateway.exchange import Exchange
from apps.gateway.progress import ProgressLines
from apps.gateway.sharing import Started
from apps.gateway.tool_calls import SentCalls, with_ids
from apps.runs.types import RunSummary, Signal

ANSWER, PROGRESS, CALLS = "answer", "progress", "calls"
Piece = tuple[str, str | tuple[ToolCallDelta, ...]]
"""A kind, and a text; for CALLS pieces of tool calls."""
DIVERGED = Failure(
    502, "answer_changed", "the final answer is not the text that was sent before"
)


@dataclass(frozen=True, slots=True)
class StreamTiming:
    """How patient a stream is."""

    heartbeat_s: float = 10.0
    """Longest silence; clients and proxies give up from 15 s on."""
    stall_s: float = 120.0
    """A client that takes nothing for so long no longer holds a run."""


class AnswerStream:
    """A run on its way to a client."""

    def __init__(
        self,
        exchange: Exchange,
        started: Started,
        writer: ChunkWriter,
        *,
        wants_usage: bool,
        shows_progress: bool,
        timing: StreamTiming,
    ) -> None:
        self._exchange = exchange
        self._started = started
        self._run = started.run
        self._writer = writer
        self._wants_usage = wants_usage
        self._lines = ProgressLines() if shows_progress else None
        self._timing = timing
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._on_record = asyncio.Event()
        self._pending: list[Piece] = []
        self._sent: list[str] = []
        self._sent_calls = SentCalls(started.run_id)
        self._is_heartbeat_due = False
        self._is_sending = False
        self._sent_at = self._loop.time()

    async def run(self) -> None:
        """Send everything from the first chunk to the last."""
        self._run.listen(self._hear)
        finished = asyncio.ensure_future(self._run.finished())
        finished.add_done_callback(lambda _: self._changed.set())
        finished.add_done_callback(lambda _: self._on_record.set())
        watcher = asyncio.ensure_future(
            self._exchange.watch_disconnect(self._started.leave)
        )
        self._timer = self._loop.call_later(self._timing.heartbeat_s, self._tick)
        try:
            # The first byte says that there is a run: not before it is on record.
            await self._on_record.wait()
            if finished.done():
                finished.result()  # raises if the run never got that far
            await self._exchange.start_stream()
            await self._send(self._writer.role())
            while not finished.done():
                await self._changed.wait()
                self._changed.clear()
                if body := self._take():
                    await self._send(body)
            await self._finish(finished.result())
        finally:
            self._timer.cancel()
            watcher.cancel()
            finished.cancel()
            self._run.unlisten(self._hear)

    # --- in: the run's signals -------------------------------------------------------

    def _hear(self, signal: Signal) -> None:
        if isinstance(signal, Progress):
            if not signal.is_answer or not (signal.text or signal.tool_calls):
                return
            if signal.text:
                self._pending.append((ANSWER, signal.text))
            if signal.tool_calls:
                self._pending.append((CALLS, signal.tool_calls))
        else:
            self._on_record.set()
            line = self._lines.line(signal) if self._lines else ""
            if not line:
                return
            self._pending.append((PROGRESS, line))
        self._changed.set()

    def _tick(self) -> None:
        now = self._loop.time()
        if self._is_sending:
            if now - self._sent_at >= self._timing.stall_s:
                self._started.leave(CLIENT_STALLED)
            next_at = now + self._timing.heartbeat_s
        else:
            next_at = self._sent_at + self._timing.heartbeat_s
            if next_at <= now:
                self._is_heartbeat_due = True
                self._changed.set()
                next_at = now + self._timing.heartbeat_s
        self._timer = self._loop.call_at(next_at, self._tick)

    # --- out: chunks -----------------------------------------------------------------

    def _take(self) -> bytes:
        """Return what is pending as chunks, neighbours of one kind joined."""
        is_due, self._is_heartbeat_due = self._is_heartbeat_due, False
        pending, self._pending = self._pending, []
        if len(pending) == 1:
            return self._chunk(*pending[0])
        if not pending:
            return self._writer.empty() if is_due else b""
        return b"".join(
            self._chunk(kind, _joined([piece for _, piece in pieces]))
            for kind, pieces in groupby(pending, key=itemgetter(0))
        )

    def _chunk(self, kind: str, piece: str | tuple[ToolCallDelta, ...]) -> bytes:
        if not isinstance(piece, str):
            return self._writer.tool_calls(self._sent_calls.pieces(piece))
        if kind is PROGRESS:
            return self._writer.reasoning(piece)
        self._sent.append(piece)
        return self._writer.content(piece)

    async def _send(self, body: bytes) -> None:
        self._sent_at = self._loop.time()
        self._is_sending = True
        await self._exchange.send_piece(body)
        self._is_sending = False
        self._sent_at = self._loop.time()

    async def _finish(self, summary: RunSummary) -> None:
        end = summary.end
        rest = self._take() if self._pending else b""
        if not isinstance(end, RunCompleted):
            await self._fail(rest, failure_of_run(end))
            return
        missing = unsent_text(end.answer, "".join(self._sent))
        calls = self._sent_calls.missing(with_ids(end.tool_calls, summary.run_id))
        if missing is None or calls is None:
            await self._fail(rest, DIVERGED)
            return
        if missing:
            rest += self._writer.content(missing)
        if calls:
            rest += self._writer.tool_calls(calls)
        await self._exchange.send_piece(
            rest + self._closing_chunks(summary, end) + DONE, is_last=True
        )

    async def _fail(self, rest: bytes, failure: Failure) -> None:
        if rest:
            await self._send(rest)
        await self._exchange.send_failure(failure)

    def _closing_chunks(self, summary: RunSummary, end: RunCompleted) -> bytes:
        reason = finish_reason(end)
        conductor = conductor_document(summary)
        if not self._wants_usage:
            return self._writer.finish(reason, conductor)
        usage = self._writer.usage(usage_document(summary), conductor)
        return self._writer.finish(reason, None) + usage


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
