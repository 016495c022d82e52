"""Ports of this machine that nobody else gets while a test needs them.

The port is bound, and not listened on, for as long as it is reserved. So the system
gives it to nobody, connections to it are refused, and a server that sets SO_REUSEADDR
(uvicorn, asyncio, PostgreSQL and Redis do) can listen on it, as often as it is started.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"


class ReservedPort:
    """A port that is reserved until it is closed."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((HOST, 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Let others have the port."""
        self._socket.close()


@contextmanager
def reserved_port() -> Iterator[int]:
    """Reserve a port for the length of a block."""
    port = ReservedPort()
    try:
        yield port.number
    finally:
        port.close()
