"""Sends hostile answers piece by piece, so that floods need no memory here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

import orjson

from apps.simulator.connection import EVENT_STREAM, JSON, Headers
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.reply import SimulatedReply, TokenPart, reply
from apps.simulator.request import SimulatedToolCall

Send = Callable[[SimulatedExchange, int], Awaitable[None]]
"""Takes the exchange and the seed, like every fault."""
Body = Callable[[SimulatedExchange], Iterable[bytes]]

MEGABYTE = 1_000_000
PIECE_BYTES = 65_536
SPACE_BYTES = 262_144
"""What may wait to be sent beside the server before a raw answer pauses."""
TEXT = "hostile text"
ARGUMENTS = '{"hostile":0}'
CALL = SimulatedToolCall("go", ARGUMENTS)


@dataclass(frozen=True, slots=True)
class Sent:
    """A proper HTTP answer with a hostile body."""

    body: Body
    status: int = 200
    kind: bytes = b""
    """Content type; empty: what was asked for."""
    headers: Headers = ()

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        connection = exchange.connection
        usual = EVENT_STREAM if exchange.request.is_streamed else JSON
        await connection.start(self.status, self.kind or usual, *self.headers)
        for piece in self.body(exchange):
            await connection.pause(0)  # ends here once the client has left
            await connection.write(piece)
        await connection.write(b"", is_last=True)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes past the server, which would refuse to send them."""

    pieces: Callable[[], Iterable[bytes]]
    stays: bool = False
    """True: the connection stays open when all is sent."""

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        connection = exchange.connection
        for piece in self.pieces():
            while connection.write_raw(piece) > SPACE_BYTES:
                await connection.pause(0.001)
            await connection.pause(0)
        if self.stays:
            await connection.wait_until_gone()
        await connection.hang_up()


def flood(what: bytes, size: int) -> Iterator[bytes]:
    """Yield `what` again and again, about `size` bytes in all."""
    count = max(PIECE_BYTES // len(what), 1)
    piece = what * count
    for _ in range(max(size // len(piece), 1)):
        yield piece


def nested(depth: int) -> bytes:
    """Return a JSON object with so many levels."""
    return b'{"a":' * depth + b"0" + b"}" * depth


def body_around(exchange: SimulatedExchange, said: Iterable[bytes]) -> Iterator[bytes]:
    """Yield an answer that is not streamed; `said` is the JSON in place of its text."""
    whole = exchange.whole_body(SimulatedReply((TEXT,)))
    before, _, after = whole.partition(orjson.dumps(TEXT))
    yield before
    yield from said
    yield after


def body_with_call(exchange: SimulatedExchange, arguments: bytes) -> bytes:
    """Return an answer that calls a tool with `arguments`, JSON as it stands."""
    called = SimulatedReply((), calls=(CALL,), finish_reason="tool_calls")
    return _with_arguments(exchange.whole_body(called), arguments)


def event_with(exchange: SimulatedExchange, said: bytes) -> bytes:
    """Return the event of one token; `said` is the JSON in place of its text."""
    told = exchange.framing.frame(TokenPart("text", TEXT))
    return told.replace(orjson.dumps(TEXT), said)


def events_with_call(exchange: SimulatedExchange, arguments: bytes) -> bytes:
    """Return the events of a call with `arguments`, JSON as it stands."""
    frame = exchange.framing.frame
    told = frame(TokenPart("call", "", 0, CALL, is_first=True))
    told += frame(TokenPart("call", ARGUMENTS, 0, CALL, is_last=True))
    return _with_arguments(told, arguments)


def opening(exchange: SimulatedExchange) -> bytes:
    """Return what a stream begins with."""
    return exchange.framing.opening(None)


def closing(exchange: SimulatedExchange) -> bytes:
    """Return the proper end of a stream."""
    return exchange.framing.closing(reply("done"), None)


def _with_arguments(told: bytes, arguments: bytes) -> bytes:
    """Put arguments in where they are an object, and where they are a text."""
    as_text = orjson.dumps(arguments.decode())
    told = told.replace(orjson.dumps(ARGUMENTS), as_text)
    return told.replace(ARGUMENTS.encode(), arguments)
