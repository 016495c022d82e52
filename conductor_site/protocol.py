"""HTTP for uvicorn, with one socket write where it makes two.

uvicorn writes an answer's head and its body apart. Most answers of the API are small,
so the second write is a good part of what they cost. Here a head leaves together with
what follows it in the same turn of the event loop, and everything else leaves at once.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = b"HTTP/1.1 "
"""What uvicorn begins a head with, and no frame of a stream."""


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


class JoiningProtocol(HttpToolsProtocol):
    """uvicorn's protocol over a joining transport."""

    transport: Any

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        self.transport = JoiningTransport(transport)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection itself over: a socket's frames are written singly."""
        self.transport.flush()
        self.transport = self.transport.inner
        super().handle_websocket_upgrade()
