"""Sends what a teller makes of one run to one client, at the client's pace.

Guarantees: the first byte goes out as soon as the run is on record; no silence longer
than the heartbeat; what arrives while the client is slow waits in the teller, which
joins it; a client that takes nothing for long leaves the run.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from apps.engine.ports import Progress
from apps.gateway.errors import CLIENT_STALLED
from apps.gateway.exchange import Exchange
from apps.gateway.run_handles import RunHandle
from apps.runs.types import RunSummary, Signal


@dataclass(frozen=True, slots=True)
class StreamTiming:
    """How patient a stream is."""

    heartbeat_s: float = 10.0
    """Longest silence; clients and proxies give up from 15 s on."""
    stall_s: float = 120.0
    """A client that takes nothing for so long no longer holds a run."""


class StreamEncoder(Protocol):
    """Turns the signals of a run into pieces of a stream."""

    def opening(self) -> bytes:
        """Return what comes first."""
        ...

    def hear(self, signal: Signal) -> bool:
        """Take a signal; return True if there is something to send now."""
        ...

    def take(self) -> bytes:
        """Return everything that has not been sent; empty if there is nothing."""
        ...

    def heartbeat(self) -> bytes:
        """Return what only shows that the stream is alive."""
        ...

    def ending(self, summary: RunSummary) -> bytes:
        """Return the rest, to the last byte of the stream."""
        ...


class Streams:
    """The streams of this process."""

    def __init__(self, timing: StreamTiming) -> None:
        self._timing = timing
        self._live = 0

    @property
    def are_live(self) -> bool:
        """Say whether anything is being streamed."""
        return self._live > 0

    async def send(
        self,
        exchange: Exchange,
        started: RunHandle,
        encoder: StreamEncoder,
        *,
        is_on_record: bool = False,
    ) -> None:
        """Send everything from the first byte to the last. Raises: ClientGone."""
        sender = StreamSender(
            exchange, started, encoder, self._timing, is_on_record=is_on_record
        )
        self._live += 1
        try:
            await sender.run()
        finally:
            self._live -= 1


class StreamSender:
    """A run on its way to a client."""

    def __init__(
        self,
        exchange: Exchange,
        started: RunHandle,
        encoder: StreamEncoder,
        timing: StreamTiming,
        *,
        is_on_record: bool = False,
    ) -> None:
        self._exchange = exchange
        self._started = started
        self._run = started.run
        self._encoder = encoder
        self._timing = timing
        self._loop = asyncio.get_running_loop()
        self._changed: asyncio.Future[None] = self._loop.create_future()
        """Done once there is something to send; an Event costs a system call each."""
        self._on_record = asyncio.Event()
        if is_on_record:
            self._on_record.set()
        self._is_heartbeat_due = False
        self._is_sending = False
        self._sent_at = self._loop.time()

    async def run(self) -> None:
        """Send everything from the first byte to the last."""
        self._run.listen(self._hear)
        finished = asyncio.ensure_future(self._run.finished())
        finished.add_done_callback(lambda _: self._wake())
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
            await self._send(self._encoder.opening())
            await self._send_until(finished)
            last = self._encoder.ending(finished.result())
            await self._exchange.send_piece(last, is_last=True)
        finally:
            self._timer.cancel()
            watcher.cancel()
            finished.cancel()
            self._run.unlisten(self._hear)

    async def _send_until(self, finished: asyncio.Future[RunSummary]) -> None:
        while not finished.done():
            await self._changed
            self._changed = self._loop.create_future()
            is_due, self._is_heartbeat_due = self._is_heartbeat_due, False
            body = self._encoder.take() or (
                self._encoder.heartbeat() if is_due else b""
            )
            if body:
                await self._send(body)

    async def _send(self, body: bytes) -> None:
        self._sent_at = self._loop.time()
        self._is_sending = True
        await self._exchange.send_piece(body)
        self._is_sending = False
        self._sent_at = self._loop.time()

    def _hear(self, signal: Signal) -> None:
        if not isinstance(signal, Progress):
            self._on_record.set()
        if self._encoder.hear(signal):
            self._wake()

    def _wake(self) -> None:
        if not self._changed.done():
            self._changed.set_result(None)

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
                self._wake()
                next_at = now + self._timing.heartbeat_s
        self._timer = self._loop.call_at(next_at, self._tick)
