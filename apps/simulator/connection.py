"""One HTTP exchange over ASGI: reads the body, sends, waits, and notices who leaves."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

import orjson
from starlette.types import Receive, Scope, Send

MAX_BODY_BYTES = 32_000_000
JSON = b"application/json"
EVENT_STREAM = b"text/event-stream; charset=utf-8"

Headers = tuple[tuple[bytes, bytes], ...]


class ConnectionGone(Exception):
    """The client has closed the connection."""


class BodyTooLarge(Exception):
    """The request body is larger than the simulator takes."""


class Connection:
    """Sends one response. Use as a context manager, so that no watcher outlives it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._watch is not None:
            self._watch.cancel()

    async def body(self) -> bytes:
        """Return the request body. Raises: ClientGone, BodyTooLarge."""
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionGone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > MAX_BODY_BYTES:
                raise BodyTooLarge
            if not message.get("more_body", False):
                return b"".join(pieces)

    async def start(self, status: int, content_type: bytes, *extra: Any) -> None:
        """Send the status line and headers."""
        headers = [(b"content-type", content_type), *extra]
        await self._send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )

    async def write(self, data: bytes, *, is_last: bool = False) -> None:
        """Send a part of the response body."""
        await self._send(
            {"type": "http.response.body", "body": data, "more_body": not is_last}
        )

    async def respond(
        self,
        status: int,
        body: bytes,
        content_type: bytes = JSON,
        headers: Headers = (),
    ) -> None:
        """Send a complete response."""
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, content_type, length, *headers)
        await self.write(body, is_last=True)

    async def respond_json(
        self, status: int, data: dict[str, Any], headers: Headers = ()
    ) -> None:
        """Send `data` as a complete JSON response."""
        await self.respond(status, orjson.dumps(data), headers=headers)

    async def pause(self, seconds: float) -> None:
        """Wait so long. Raises: ClientGone, at once, if the client leaves."""
        if await self._is_gone(seconds):
            raise ConnectionGone

    async def wait_until_gone(self) -> None:
        """Stay silent until the client leaves. Raises: ClientGone, always."""
        await self._is_gone(None)
        raise ConnectionGone

    async def hang_up(self) -> None:
        """Close the connection in the middle of whatever it is doing.

        ASGI has no word for this, so it goes through the server's transport; a server
        that shows none (an in-process client) gets the exception instead.
        Raises: ConnectionAbortedError without a transport.
        """
        self._transport().close()
        await self._is_gone(None)  # or the server would answer in our place

    def write_raw(self, data: bytes) -> int:
        """Send bytes as they are, past the server; return how many wait to be sent.

        Raises: ClientGone; ConnectionAbortedError without a transport.
        """
        transport = self._transport()
        if transport.is_closing():
            raise ConnectionGone
        transport.write(data)
        return int(transport.get_write_buffer_size())

    def _transport(self) -> Any:
        transport = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is None:
            raise ConnectionAbortedError("the simulated server hung up")
        return transport

    async def _is_gone(self, timeout_s: float | None) -> bool:
        if self._watch is None:
            self._watch = asyncio.create_task(self._until_gone())
        done, _ = await asyncio.wait({self._watch}, timeout=timeout_s)
        return bool(done)

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
