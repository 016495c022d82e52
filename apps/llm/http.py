"""The one module that speaks HTTP to the outside.

Owns the connection pool of a process and every time limit of a call. Guarantees: no
redirects, no proxies from the environment, no cookies, no forbidden address at connect,
no exception but `LlmError`, a bounded number of informational responses (1xx), and a
socket that is closed as soon as its reply is.

httpx's types over aiohttp's connections, without httpx's client layer: the client costs
more than the call. Every exception is told apart by its aiohttp cause, because refused,
DNS, pool and disconnect errors all arrive as `httpx.ConnectTimeout`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from io import BytesIO
from types import TracebackType
from typing import Any, Self, cast

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import AiohttpResponseStream
from multidict import CIMultiDict

from apps.llm.address_policy import AddressPolicy, ForbiddenAddress
from apps.llm.errors import (
    BadResponse,
    ConnectFailed,
    FirstByteTimeout,
    IdleTimeout,
    Incomplete,
    LlmError,
    TotalTimeout,
    UnusableResponse,
)
from apps.llm.types import Timeouts

MAX_CONNECTIONS = 2_000
"""More than the runs one process takes at once."""
KEEPALIVE_S = 4.0
"""Under the 5 s after which uvicorn, and so vLLM, closes an idle connection: a POST
that meets the closing fails, and must not be repeated blindly."""

MAX_INFORMATIONAL = 100
"""Responses of the kind 1xx before one response. Servers send an early hint, or a sign
of life every 20 s."""
READ_BUFFER_BYTES = 65_536
"""Of one body: aiohttp stops parsing at twice as many bytes, or at one chunk for each
16 bytes. Its default of 262,144 lets it parse 16,384 chunks in one turn of the loop."""
LARGE_BODY_BYTES = 1_000_000
"""A longer body is sent in pieces."""
PIECE_BYTES = 8_192
"""Other tasks get their turn after so much of a body: it may have come in as many
chunks, which take 20 ms."""

HeaderPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Post:
    """One request, ready to be sent."""

    name: str
    """Whom error messages name."""
    url: str
    headers: HeaderPairs
    body: bytes
    timeouts: Timeouts


@dataclass(frozen=True, slots=True)
class Get:
    """One question without a body, ready to be sent."""

    name: str
    """Whom error messages name."""
    url: str
    headers: HeaderPairs
    timeouts: Timeouts


def open_transport(
    *,
    allowed_networks: Iterable[str] = (),
    allowed_ports: Iterable[str | int] = (),
    max_connections: int = MAX_CONNECTIONS,
) -> HttpTransport:
    """Return a transport; close it with `aclose` or use it as a context manager.

    `allowed_networks` are CIDR texts that models may live in beside public addresses,
    there at `allowed_ports` alone if any are given.
    """
    return HttpTransport(
        AddressPolicy(allowed_networks, allowed_ports), max_connections
    )


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return what all transports of this process trust: reading it takes a while.

    That is the certificates of the system or of SSL_CERT_FILE, for models on the
    premises.
    """
    return httpx.create_ssl_context()


class HttpTransport:
    """The shared connections of one event loop; they open with the first request."""

    def __init__(self, addresses: AddressPolicy, max_connections: int) -> None:
        self._addresses = addresses
        self._max_connections = max_connections
        self._ssl_context = _ssl_context()
        self._transport = AiohttpTransport(
            verify=self._ssl_context, client=self._open_session
        )
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; calls in flight end with an error."""
        self._is_closed = True
        await self._transport.aclose()

    async def post(self, post: Post) -> HttpReply:
        """Send `post` and return its reply as soon as the head has come.

        Close the reply after use. Raises: LlmError.
        """
        return await self._send("POST", post, post.body)

    async def get(self, get: Get) -> HttpReply:
        """Send `get`; like `post`. Raises: LlmError."""
        return await self._send("GET", get, b"")

    async def _send(self, method: str, asked: Post | Get, body: bytes) -> HttpReply:
        if self._is_closed:
            raise ConnectFailed(f"{asked.name!r}: this process is shutting down")
        deadline = _Deadline(asked)
        try:
            async with asyncio.timeout_at(deadline.at):
                request = cast(httpx.Request, _Request(method, asked, body))
                response = await self._transport.handle_async_request(request)
        except TimeoutError as exc:
            raise deadline.error() from exc
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as exc:
            raise ConnectFailed(f"{asked.name!r}: not a usable address") from exc
        except httpx.TransportError as exc:
            raise _connection_error(asked.name, exc.__cause__) from exc
        except aiohttp.ClientError:
            unreadable = BadResponse(f"{asked.name!r}: the answer is not HTTP")
        else:
            return HttpReply(response, deadline)
        # Raised out here, without the cause: that one carries the request's headers.
        raise unreadable

    def _open_session(self) -> aiohttp.ClientSession:
        connector = _Connector(
            limit=self._max_connections,
            ssl=self._ssl_context,
            keepalive_timeout=KEEPALIVE_S,
            socket_factory=self._open_socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            read_bufsize=READ_BUFFER_BYTES,
        )

    def _open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """Open a socket for `address`, one row of getaddrinfo."""
        family, kind, protocol, _, peer = address
        if not self._addresses.allows(peer[0], peer[1]):
            raise ForbiddenAddress("the address is not in an allowed network")
        return socket.socket(family, kind, protocol)


class _Connector(aiohttp.TCPConnector):
    """Opens connections that refuse floods of informational responses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # aiohttp has no public way to see informational responses.
        opened: partial[Any] = partial(_Connection, self._loop)
        self._factory = opened


class _Connection(ResponseHandler):
    """Counts and drops informational responses: only `Expect` would need them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._informational = 0

    def feed_data(
        self, data: tuple[RawResponseMessage, StreamReader], size: int = 0
    ) -> None:
        """Take one parsed head of a response."""
        if data[0].code >= 200 or data[0].code == 101:
            self._informational = 0
            super().feed_data(data, size)
            return
        self._informational += 1
        if self._informational > MAX_INFORMATIONAL and not self.is_eof():
            self.set_exception(HttpProcessingError(message="too many 1xx responses"))
            if self.transport is not None:
                self.transport.close()


class HttpReply:
    """The answer to a request: status and headers now, the body piece by piece."""

    __slots__ = (
        "_alarm",
        "_deadline",
        "_has_more",
        "_pieces",
        "_stream",
        "headers",
        "status",
    )

    def __init__(self, response: httpx.Response, deadline: _Deadline) -> None:
        self._stream = cast(AiohttpResponseStream, response.stream)
        self._stream.CHUNK_SIZE = PIECE_BYTES
        self._has_more = False  # the next piece may be here already
        self._deadline = deadline
        self._alarm = _Alarm(deadline, self._stream.aclose)
        self._pieces: AsyncIterator[bytes] = aiter(self._stream)
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._alarm.stop()
        await self._stream.aclose()

    async def read_piece(self) -> bytes:
        """Return the next piece of the body; empty at its end. Raises: LlmError."""
        if self._has_more:
            await asyncio.sleep(0)
        try:
            piece = await anext(self._pieces, b"")
        except httpx.TransportError as exc:
            if self._alarm.has_rung:
                raise self._deadline.error() from exc
            name = self._deadline.name
            raise Incomplete(f"{name!r}: the answer was cut off") from exc
        self._has_more = len(piece) == PIECE_BYTES
        self._deadline.touch()
        self._alarm.watch()
        return piece

    async def read_body(self, limit: int) -> bytes:
        """Return the whole body. Raises: LlmError, also if it exceeds `limit` bytes."""
        body = bytearray()
        announced = _length(self.headers)
        if announced > limit:
            raise self._too_long(limit)
        while piece := await self.read_piece():
            body += piece
            if len(body) > limit:
                raise self._too_long(limit)
            if len(body) == announced:
                break
        return bytes(body)

    async def read_some(self, limit: int) -> bytes:
        """Return what comes of the body, `limit` bytes at most, faults or not."""
        body = bytearray()
        with suppress(LlmError):
            while len(body) < limit and (piece := await self.read_piece()):
                body += piece
        return bytes(body[:limit])

    def _too_long(self, limit: int) -> UnusableResponse:
        return UnusableResponse(f"{self._deadline.name!r}: more than {limit} bytes")

    async def drain(self, limit_s: float) -> None:
        """Read to the end, so that the connection can be used again.

        Gives up quietly after `limit_s`: a connection more is no harm.
        """
        self._deadline.shorten(limit_s)
        self._alarm.watch()
        try:
            while await self.read_piece():
                pass
        except LlmError:
            return


class _Deadline:
    """When the phase a call is in must end, and what it means if it does not."""

    __slots__ = ("_has_begun", "_limits", "_total_at", "at", "loop", "name")

    def __init__(self, asked: Post | Get) -> None:
        self.loop = asyncio.get_running_loop()
        now = self.loop.time()
        self._limits = asked.timeouts
        self._total_at = now + asked.timeouts.total_s
        self._has_begun = False
        self.name = asked.name
        self.at = min(now + asked.timeouts.first_byte_s, self._total_at)

    @property
    def soonest(self) -> float:
        """Return when this phase or the next one must end, whichever is sooner."""
        return min(self.at, self.loop.time() + self._limits.idle_s)

    def touch(self) -> None:
        """Start waiting for the next piece."""
        self._has_begun = True
        self.at = min(self.loop.time() + self._limits.idle_s, self._total_at)

    def shorten(self, limit_s: float) -> None:
        """Allow `limit_s` for all that is left."""
        self._total_at = min(self._total_at, self.loop.time() + limit_s)
        self.at = min(self.at, self._total_at)

    def error(self) -> LlmError:
        """Return the error for a call that reached `at`."""
        limits = self._limits
        if self.at >= self._total_at:
            return TotalTimeout(f"{self.name!r}: not done within {limits.total_s:g} s")
        if self._has_begun:
            return IdleTimeout(f"{self.name!r}: silent for {limits.idle_s:g} s")
        return FirstByteTimeout(
            f"{self.name!r}: nothing came within {limits.first_byte_s:g} s"
        )


class _Alarm:
    """Closes a reply whose deadline has passed, so that its reader gets an error.

    One timer for a whole answer: it looks at the deadline when it goes off, and most
    often finds that there is time left. A time limit around each read of a stream costs
    more than the read.
    """

    __slots__ = ("_close", "_closing", "_deadline", "_rings_at", "_timer", "has_rung")

    def __init__(
        self, deadline: _Deadline, close: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._deadline = deadline
        self._close = close
        self._closing: asyncio.Task[None] | None = None
        # Early enough for the phases to come, so that they need no other timer.
        self._set(deadline.soonest)
        self.has_rung = False

    def watch(self) -> None:
        """Take note of a deadline that may be earlier than it was."""
        if self._deadline.at < self._rings_at:
            self._timer.cancel()
            self._set(self._deadline.at)

    def stop(self) -> None:
        """Never ring any more."""
        self._timer.cancel()

    def _set(self, at: float) -> None:
        # uvloop does not tell when a timer of less than half a millisecond goes off.
        self._rings_at = at
        self._timer = self._deadline.loop.call_at(at, self._look)

    def _look(self) -> None:
        if self._deadline.loop.time() < self._deadline.at:
            self._set(self._deadline.at)
            return
        self.has_rung = True
        self._closing = self._deadline.loop.create_task(self._close())


def _length(headers: Mapping[str, str]) -> int:
    """Return the length an answer announces, -1 if it announces none."""
    text = headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else -1


class _Request:
    """What the transport reads of an `httpx.Request`, and nothing else.

    A real one prepares what only a client needs, at five times the price.
    """

    __slots__ = ("content", "extensions", "headers", "method", "url")
    content: bytes | BytesIO

    def __init__(self, method: str, asked: Post | Get, body: bytes) -> None:
        connect_s = asked.timeouts.connect_s
        self.method = method
        self.url = _url(asked.url)
        self.headers = _headers(asked.headers)
        # What is large goes out in pieces, and the loop turns in between.
        self.content = BytesIO(body) if len(body) > LARGE_BODY_BYTES else body
        # "pool" bounds all of connecting, "connect" one TCP handshake within it.
        self.extensions = {"timeout": {"pool": connect_s, "connect": connect_s}}


@lru_cache(maxsize=1024)
def _headers(pairs: HeaderPairs) -> CIMultiDict[str]:
    return CIMultiDict(pairs)


@lru_cache(maxsize=1024)
def _url(text: str) -> str:
    url = httpx.URL(text)
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise httpx.InvalidURL("expected http(s)://host/path")
    return str(url)


def _connection_error(name: str, cause: BaseException | None) -> LlmError:
    if isinstance(cause, aiohttp.ConnectionTimeoutError):
        return ConnectFailed(f"no connection to {name!r} in time")
    if isinstance(cause, aiohttp.ClientConnectorError):
        return ConnectFailed(f"no connection to {name!r}: {_why_no_connection(cause)}")
    return Incomplete(f"{name!r}: closed the connection without an answer")


def _why_no_connection(error: aiohttp.ClientConnectorError) -> str:
    """Say it in general terms: details would map the operator's network."""
    if isinstance(error.os_error, ForbiddenAddress):
        return "the address is not in an allowed network"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name is not known"
    if isinstance(error, aiohttp.ClientSSLError):
        return "TLS failed"
    return "refused or not reachable"
