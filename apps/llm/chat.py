"""Asks one model, by the protocol of its endpoint.

Every call ends in a complete answer or in one `LlmError`. Nothing is retried here, and
closing the iterator of a stream closes its socket at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from apps.llm.continuation import prepare
from apps.llm.errors import BadResponse, LlmError
from apps.llm.http import HeaderPairs, HttpTransport, Post, Reply
from apps.llm.protocols.base import AnswerReader
from apps.llm.protocols.registry import protocol_of
from apps.llm.sse import EventTooLong, SseParser
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish, Timeouts
from apps.llm.wire import expect_success, request_headers

MAX_ANSWER_BYTES = 32_000_000
"""Framing included; the longest answers of today's models need a tenth of it."""
DRAIN_S = 0.1
"""The rest after the end marker is usually already there."""


class ChatClient:
    """Speaks to any number of endpoints over one transport."""

    __slots__ = ("_transport",)

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    async def stream(
        self, endpoint: Endpoint, request: ChatRequest
    ) -> AsyncGenerator[Delta | Finish, None]:
        """Yield the answer as it comes, then exactly one Finish.

        Raises: LlmError, possibly after some deltas: they are then void.
        """
        asked, continuation = prepare(request)
        async with await self._post(endpoint, asked, is_stream=True) as reply:
            await _expect_events(endpoint, reply)
            parser = SseParser()
            reader = protocol_of(endpoint).reader(endpoint)
            size = 0
            while piece := await reply.read_piece():
                size += len(piece)
                for item in _items(reader, _payloads(endpoint, parser, piece, size)):
                    if isinstance(item, Finish):
                        yield item
                        await reply.drain(DRAIN_S)
                        return
                    if (new := continuation.follow(item)) is not None:
                        yield new
            yield reader.end(parser.end())

    async def complete(
        self, endpoint: Endpoint, request: ChatRequest
    ) -> tuple[Delta, Finish]:
        """Return the whole answer at once. Raises: LlmError."""
        asked, continuation = prepare(request)
        async with await self._post(endpoint, asked, is_stream=False) as reply:
            await expect_success(endpoint, reply)
            body = await reply.read_body(MAX_ANSWER_BYTES)
        answer, finish = protocol_of(endpoint).read_answer(endpoint, body)
        return continuation.follow(answer) or Delta(), finish

    async def _post(
        self, endpoint: Endpoint, request: ChatRequest, *, is_stream: bool
    ) -> Reply:
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


@lru_cache(maxsize=256)
def _timeouts(timeouts: Timeouts, *, is_stream: bool) -> Timeouts:
    """Let a plain answer, which comes whole, take its whole time to begin."""
    return timeouts if is_stream else replace(timeouts, first_byte_s=timeouts.total_s)


def _headers(endpoint: Endpoint, *, is_stream: bool) -> HeaderPairs:
    accept = "text/event-stream" if is_stream else "application/json"
    common = request_headers(endpoint, accept=accept)
    return (("content-type", "application/json"), *common)


async def _expect_events(endpoint: Endpoint, reply: Reply) -> None:
    await expect_success(endpoint, reply)
    kind = reply.headers.get("content-type", "")
    if "json" in kind:  # an error in a 200 answer is worth reading
        body = await reply.read_body(MAX_ANSWER_BYTES)
        protocol_of(endpoint).read_answer(endpoint, body)
    if "json" in kind or "html" in kind:
        raise BadResponse(f"{endpoint.name!r}: not an event stream")


def _items(reader: AnswerReader, payloads: list[bytes]) -> Iterator[Delta | Finish]:
    """Yield what the payloads say; what came together goes on together.

    So a process that falls behind has less to do for each token. Raises: LlmError,
    after what came before it.
    """
    deltas: list[Delta] = []
    try:
        for payload in payloads:
            item = reader.read(payload)
            if isinstance(item, Finish):
                yield from _joined(deltas)
                yield item
                return
            if item is not None:
                deltas.append(item)
    except LlmError:
        yield from _joined(deltas)
        raise
    yield from _joined(deltas)


def _joined(deltas: list[Delta]) -> list[Delta]:
    if len(deltas) < 2:
        return deltas
    texts, reasonings, calls = zip(*deltas, strict=True)
    return [Delta("".join(texts), "".join(reasonings), tuple(chain(*calls)))]


def _payloads(
    endpoint: Endpoint, parser: SseParser, piece: bytes, size: int
) -> list[bytes]:
    if size > MAX_ANSWER_BYTES:
        raise BadResponse(f"{endpoint.name!r}: more than {MAX_ANSWER_BYTES} bytes")
    if size == len(piece) and piece.lstrip()[:1] in (b"<", b"{"):
        raise BadResponse(f"{endpoint.name!r}: not an event stream")
    try:
        return parser.feed(piece)
    except EventTooLong as exc:
        raise BadResponse(f"{endpoint.name!r}: {exc}") from exc
