"""Sends a reply over a connection: framing, pace, usage. Faults use parts of it."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from apps.simulator import wire
from apps.simulator.connection import EVENT_STREAM, JSON, Connection
from apps.simulator.reply import Reply, count_prompt_tokens, within_limits
from apps.simulator.request import ChatRequest

STREAM_HEADERS = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))


class Exchange:
    """One chat request that is being answered."""

    def __init__(
        self,
        connection: Connection,
        request: ChatRequest,
        body: bytes,
        *,
        speed: float,
    ) -> None:
        self.connection = connection
        self.request = request
        self._speed = speed
        digest = hashlib.blake2b(body, digest_size=12).hexdigest()
        self._id = f"chatcmpl-{digest}"
        self.rename(request.model)

    def rename(self, model: str) -> None:
        """Answer under the name `model`. Call before anything is sent."""
        self.framing = wire.Framing(
            self._id,
            model,
            has_usage_key=self.request.is_streamed and self.request.includes_usage,
        )

    async def answer(self, whole: Reply, *, has_usage: bool = True) -> None:
        """Send a complete answer in the form the request asks for."""
        reply = within_limits(whole, self.request)
        if self.request.is_streamed:
            await self._stream(reply, has_usage=has_usage)
        else:
            await self._send_whole(reply, has_usage=has_usage)

    def whole_body(self, reply: Reply, *, has_usage: bool = True) -> bytes:
        """Return the body of an answer that is not streamed."""
        counted = self._usage(reply) if has_usage else None
        return self.framing.completion(reply.text, reply.finish_reason, counted)

    async def begin_stream(self) -> None:
        """Send the headers of a stream and the chunk with the role."""
        await self.connection.start(200, EVENT_STREAM, *STREAM_HEADERS)
        await self.connection.write(self.framing.role())

    async def send_pieces(self, reply: Reply) -> None:
        """Send the tokens one chunk each, no earlier than each is due."""
        loop, pieces, rate = (
            asyncio.get_running_loop(),
            reply.pieces,
            reply.tokens_per_s,
        )
        rate *= self._speed
        start, sent = loop.time(), 0
        while sent < len(pieces):
            elapsed = loop.time() - start
            due = min(int(elapsed * rate) + 1, len(pieces)) if rate else len(pieces)
            if due <= sent:
                await self.connection.pause(sent / rate - elapsed)
                due = sent + 1
            chunks = map(self.framing.content, pieces[sent:due])
            await self.connection.write(b"".join(chunks))
            sent = due

    async def think(self, reply: Reply) -> None:
        """Wait until the first token is due."""
        if self._speed and reply.first_token_s:
            await self.connection.pause(reply.first_token_s / self._speed)

    async def _stream(self, reply: Reply, *, has_usage: bool) -> None:
        await self.think(reply)
        await self.begin_stream()
        await self.send_pieces(reply)
        end = [self.framing.finish(reply.finish_reason)]
        if has_usage and self.request.includes_usage:
            end.append(self.framing.usage(self._usage(reply)))
        end.append(wire.DONE)
        await self.connection.write(b"".join(end), is_last=True)

    async def _send_whole(self, reply: Reply, *, has_usage: bool) -> None:
        await self.think(reply)
        rate = reply.tokens_per_s * self._speed
        if rate:
            await self.connection.pause(len(reply.pieces) / rate)
        await self.connection.respond(
            200, self.whole_body(reply, has_usage=has_usage), JSON
        )

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return wire.usage(count_prompt_tokens(self.request.messages), len(reply.pieces))
