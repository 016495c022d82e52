"""Sends a reply over a connection: framing, pace, usage. Faults use parts of it."""

from __future__ import annotations

import asyncio
import hashlib
from itertools import islice

from apps.simulator.connection import EVENT_STREAM, JSON, Connection
from apps.simulator.problems import Problem
from apps.simulator.reply import SimulatedReply, SimulatedUsage, usage_of, within_limits
from apps.simulator.request import SimulatedRequest
from apps.simulator.surfaces.base import Surface

STREAM_HEADERS = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))


class SimulatedExchange:
    """One chat request that is being answered."""

    def __init__(
        self,
        connection: Connection,
        surface: Surface,
        request: SimulatedRequest,
        body: bytes,
        *,
        speed: float,
    ) -> None:
        self.connection = connection
        self.request = request
        self.surface = surface
        self._speed = speed
        self._digest = hashlib.blake2b(body, digest_size=12).hexdigest()
        self.rename(request.model)

    def rename(self, model: str) -> None:
        """Answer under the name `model`. Call before anything is sent."""
        self.framing = self.surface.framing(self.request, model, self._digest)

    async def answer(self, whole: SimulatedReply, *, has_usage: bool = True) -> None:
        """Send a complete answer in the form the request asks for."""
        reply = within_limits(whole, self.request)
        if self.request.is_streamed:
            await self._stream(reply, has_usage=has_usage)
        else:
            await self._send_whole(reply, has_usage=has_usage)

    async def refuse(self, problem: Problem) -> None:
        """Send an error instead of an answer."""
        failure = self.surface.failure(problem)
        await self.connection.respond_json(
            failure.status, failure.body, failure.headers
        )

    def whole_body(self, reply: SimulatedReply, *, has_usage: bool = True) -> bytes:
        """Return the body of an answer that is not streamed."""
        return self.framing.whole(reply, self._usage(reply, has_usage=has_usage))

    async def begin_stream(
        self, whole: SimulatedReply, *, has_usage: bool = True
    ) -> None:
        """Send the headers of a stream and what comes before the first token."""
        await self.connection.start(200, EVENT_STREAM, *STREAM_HEADERS)
        counted = self._usage(whole, has_usage=has_usage)
        if opening := self.framing.opening(counted):
            await self.connection.write(opening)

    async def send_pieces(self, reply: SimulatedReply) -> None:
        """Send the tokens one frame each, no earlier than each is due."""
        loop, parts, count = (
            asyncio.get_running_loop(),
            reply.parts(),
            reply.token_count,
        )
        rate = reply.tokens_per_s * self._speed
        start, sent = loop.time(), 0
        while sent < count:
            elapsed = loop.time() - start
            due = min(int(elapsed * rate) + 1, count) if rate else count
            if due <= sent:
                await self.connection.pause(sent / rate - elapsed)
                due = sent + 1
            frames = map(self.framing.frame, islice(parts, due - sent))
            if data := b"".join(frames):
                await self.connection.write(data)
            sent = due

    async def trickle(self, whole: SimulatedReply, interval_s: float) -> None:
        """Send a streamed answer with so much time before each token."""
        reply = within_limits(whole, self.request)
        await self.begin_stream(reply)
        for part in reply.parts():
            await self.connection.pause(interval_s)
            await self.connection.write(self.framing.frame(part))
        counted = self._usage(reply, has_usage=True)
        await self.connection.write(self.framing.closing(reply, counted), is_last=True)

    async def think(self, reply: SimulatedReply) -> None:
        """Wait until the first token is due."""
        if self._speed and reply.first_token_s:
            await self.connection.pause(reply.first_token_s / self._speed)

    async def _stream(self, reply: SimulatedReply, *, has_usage: bool) -> None:
        await self.think(reply)
        await self.begin_stream(reply, has_usage=has_usage)
        await self.send_pieces(reply)
        counted = self._usage(reply, has_usage=has_usage)
        await self.connection.write(self.framing.closing(reply, counted), is_last=True)

    async def _send_whole(self, reply: SimulatedReply, *, has_usage: bool) -> None:
        await self.think(reply)
        rate = reply.tokens_per_s * self._speed
        if rate:
            await self.connection.pause(reply.token_count / rate)
        await self.connection.respond(
            200, self.whole_body(reply, has_usage=has_usage), JSON
        )

    def _usage(
        self, reply: SimulatedReply, *, has_usage: bool
    ) -> SimulatedUsage | None:
        return usage_of(self.request, reply) if has_usage else None
