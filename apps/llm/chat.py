"""Asks one model, by the protocol of its endpoint.

Every call ends in a complete answer or in one `LlmError`. Nothing is retried here, and
closing the iterator of a stream closes its socket at once. However much a provider
sends at once, other tasks of the loop get their turn every few milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from apps.llm import bounds
from apps.llm.embeddings import embed
from apps.llm.errors import BadResponse, UnusableResponse
from apps.llm.http import HeaderPairs, HttpReply, HttpTransport, Post
from apps.llm.http_common import expect_success, request_headers
from apps.llm.prefill import prepare
from apps.llm.protocols.registry import protocol_of
from apps.llm.service_accounts import authorised
from apps.llm.streams import StreamedAnswer, written_characters
from apps.llm.tool_names import ToolNames
from apps.llm.types import (
    ChatRequest,
    Delta,
    EmbeddingRequest,
    Embeddings,
    Endpoint,
    Finish,
    Timeouts,
)

WORK_S = 0.002
"""How long an answer that comes faster than it is read keeps other tasks waiting."""
DRAIN_S = 0.1
"""The rest after the end marker is usually already there."""


class ChatClient:
    """Speaks to any number of endpoints over one transport."""

    __slots__ = ("_max_characters", "_transport")

    def __init__(
        self, transport: HttpTransport, max_characters: int = bounds.MAX_CHARACTERS
    ) -> None:
        """`max_characters`: of text, thinking and tool arguments in one answer."""
        self._transport = transport
        self._max_characters = max_characters

    async def stream(
        self, endpoint: Endpoint, request: ChatRequest
    ) -> AsyncGenerator[Delta | Finish, None]:
        """Yield the answer as it comes, then exactly one Finish.

        Raises: LlmError, possibly after some deltas: they are then void.
        """
        endpoint = await authorised(self._transport, endpoint)
        names = ToolNames(protocol_of(endpoint).max_tool_name)
        prepared, continuation = prepare(names.fit(request))
        async with await self._post(endpoint, prepared, is_stream=True) as reply:
            await self._expect_events(endpoint, reply)
            answer = StreamedAnswer(endpoint, self._max_characters)
            worked_s = 0.0
            while piece := await reply.read_piece():
                began_s = time.perf_counter()
                if answer.is_slow(piece):
                    items = await asyncio.to_thread(answer.take, piece)
                else:
                    items = answer.take(piece)
                for item in items:
                    if isinstance(item, Finish):
                        yield item
                        await reply.drain(DRAIN_S)
                        return
                    if (new := continuation.follow(item)) is not None:
                        yield names.restore(new)
                if answer.error is not None:
                    raise answer.error
                worked_s += time.perf_counter() - began_s
                if worked_s > WORK_S:  # the next piece may be here already
                    worked_s = 0.0
                    await asyncio.sleep(0)
            yield answer.end()

    async def complete(
        self, endpoint: Endpoint, request: ChatRequest
    ) -> tuple[Delta, Finish]:
        """Return the whole answer at once. Raises: LlmError."""
        endpoint = await authorised(self._transport, endpoint)
        names = ToolNames(protocol_of(endpoint).max_tool_name)
        prepared, continuation = prepare(names.fit(request))
        async with await self._post(endpoint, prepared, is_stream=False) as reply:
            await expect_success(endpoint, reply)
            kind = reply.headers.get("content-type", "")
            if "html" in kind or "event-stream" in kind:
                raise UnusableResponse(f"{endpoint.name!r}: {kind[:99]}, not JSON")
            answer, finish = await self._read_answer(endpoint, reply)
        return names.restore(continuation.follow(answer) or Delta()), finish

    async def embed(self, endpoint: Endpoint, request: EmbeddingRequest) -> Embeddings:
        """Return the vectors of some texts. Raises: LlmError."""
        return await embed(self._transport, endpoint, request)

    async def _post(
        self, endpoint: Endpoint, request: ChatRequest, *, is_stream: bool
    ) -> HttpReply:
        protocol = protocol_of(endpoint)
        return await self._transport.post(
            Post(
                name=endpoint.name,
                url=protocol.chat_url(endpoint, is_stream=is_stream),
                headers=_headers(endpoint, is_stream=is_stream),
                body=protocol.request_body(endpoint, request, is_stream=is_stream),
                timeouts=_timeouts(endpoint.timeouts, is_stream=is_stream),
            )
        )

    async def _expect_events(self, endpoint: Endpoint, reply: HttpReply) -> None:
        await expect_success(endpoint, reply)
        kind = reply.headers.get("content-type", "")
        if "json" in kind:  # an error in a 200 answer is worth reading
            with suppress(BadResponse):
                await self._read_answer(endpoint, reply)
        if "json" in kind or "html" in kind:
            raise UnusableResponse(f"{endpoint.name!r}: not an event stream")

    async def _read_answer(
        self, endpoint: Endpoint, reply: HttpReply
    ) -> tuple[Delta, Finish]:
        """Return an answer that comes as one body. Raises: LlmError."""
        limit = self._max_characters * bounds.BODY_BYTES_PER_CHARACTER
        body = await reply.read_body(limit)
        read = protocol_of(endpoint).read_answer
        if len(body) > bounds.LARGE_BYTES:
            answer, finish = await asyncio.to_thread(read, endpoint, body)
        else:
            answer, finish = read(endpoint, body)
        if written_characters(answer) > self._max_characters:
            raise UnusableResponse(
                f"{endpoint.name!r}: more than {self._max_characters} characters"
            )
        return answer, finish


@lru_cache(maxsize=256)
def _timeouts(timeouts: Timeouts, *, is_stream: bool) -> Timeouts:
    """Let a plain answer, which comes whole, take its whole time to begin."""
    return timeouts if is_stream else replace(timeouts, first_byte_s=timeouts.total_s)


def _headers(endpoint: Endpoint, *, is_stream: bool) -> HeaderPairs:
    accept = "text/event-stream" if is_stream else "application/json"
    common = request_headers(endpoint, accept=accept)
    return (("content-type", "application/json"), *common)
