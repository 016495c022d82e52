"""HTTP for uvicorn, with one socket write where it makes two, and with time limits.

uvicorn writes an answer's head and its body apart. Most answers of the API are small,
so the second write is a good part of what they cost. Here a head leaves together with
what follows it in the same turn of the event loop, and everything else leaves at once.

uvicorn waits for ever for a request's head and body. Here a connection is closed that
takes longer than REQUEST_HEAD_TIMEOUT_S for a head, idle time before it included, or
than REQUEST_BODY_TIMEOUT_S for a body. A request costs three assignments for that: the
one timer of a connection looks at the time that is due when it goes off, as
`apps.llm.http` does with its own.

Clients of HTTP/1.0 know no chunks: a body without a length ends with the connection.

A client that has sent its request may close its own direction and wait for the answer.
That looks the same as a client that is gone, until something is sent: so the connection
is kept, and `102 Processing` is sent every PROBE_INTERVAL_S until the answer begins. A
client that is gone makes the second one fail.
"""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import (
    HttpToolsProtocol,
    RequestResponseCycle,
)

HEAD = b"HTTP/1.1 "
"""What uvicorn begins a head with, and no frame of a stream."""


PROBE_INTERVAL_S = 0.5
PROBE = b"HTTP/1.1 102 Processing\r\n\r\n"


class JoiningTransport:
    """A transport that holds heads back, until the event loop's turn ends at most."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.inner = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write `data`, or hold it back if it is a head."""
        if self._pieces:
            self._pieces.append(data)
            self.flush()
        elif data.startswith(HEAD):
            self._pieces.append(data)
            self._loop.call_soon(self.flush)
        else:
            self.inner.write(data)

    def flush(self) -> None:
        """Write what has been taken."""
        if self._pieces:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self.inner.write(data)

    def close(self) -> None:
        """Write what has been taken, then close."""
        self.flush()
        self.inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


NEVER = math.inf


class JoiningProtocol(HttpToolsProtocol):
    """uvicorn's protocol over a joining transport, with limits on slow clients."""

    transport: Any
    _timer: asyncio.TimerHandle
    _due_at = NEVER
    """When the head or body that is awaited must be complete, in the loop's time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        self.transport = JoiningTransport(transport)
        self._head_s = float(settings.REQUEST_HEAD_TIMEOUT_S)
        self._body_s = float(settings.REQUEST_BODY_TIMEOUT_S)
        self._due_at = self.loop.time() + self._head_s
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._timer.cancel()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Note that a head is complete, so that its body is due."""
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0":
            self.cycle.send = partial(_send_unframed, self.cycle)  # type: ignore[method-assign]
        # Behind another request nothing is read until that one is answered.
        self._due_at = NEVER if self.pipeline else self.loop.time() + self._body_s

    def on_message_complete(self) -> None:
        """Note that a request is complete, so that nothing is due."""
        self._due_at = NEVER
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note that a request is answered, so that the next head is due."""
        has_next = bool(self.pipeline)
        super().on_response_complete()
        if not has_next:
            self._due_at = self.loop.time() + self._head_s
        elif self.cycle.more_body:
            self._due_at = self.loop.time() + self._body_s

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether the connection stays open for an answer; see the module."""
        self.transport.flush()
        cycle = self.cycle
        if cycle is None or cycle.more_body or cycle.response_started:
            return False
        if self.pipeline:  # the answer before this one's would get the probes
            return False
        if self.scheme == "https":  # asyncio's TLS knows no half-closed connections
            return False
        cycle.keep_alive = False
        if self.scope["http_version"] != "1.0":  # older clients know no such status
            self._probe(cycle)
        return True

    def _probe(self, cycle: RequestResponseCycle) -> None:
        if not cycle.response_started and not self.transport.is_closing():
            self.transport.write(PROBE)
            self.transport.flush()
            self.loop.call_later(PROBE_INTERVAL_S, self._probe, cycle)

    def _look_later(self) -> None:
        # What becomes due later is due no sooner than the shorter limit from then.
        soonest = self.loop.time() + min(self._head_s, self._body_s)
        self._timer = self.loop.call_at(min(self._due_at, soonest), self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        if self.loop.time() >= self._due_at:
            self.transport.close()
        else:
            self._look_later()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection itself over: a socket's frames are written singly."""
        self._timer.cancel()  # it is a socket now, which looks after itself with pings
        self.transport.flush()
        self.transport = self.transport.inner
        super().handle_websocket_upgrade()


async def _send_unframed(cycle: RequestResponseCycle, message: Any) -> None:
    """Send a part of an answer whose body ends by its length or the connection."""
    if message["type"] == "http.response.start":
        cycle.chunked_encoding = False
    else:
        cycle.expected_content_length = len(message.get("body", b""))
    await RequestResponseCycle.send(cycle, message)
