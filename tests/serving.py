"""Real servers for tests: on a free port of this machine, in a thread of their own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from apps.llm.testing.server import waiting_accepted
from tests.patience import PATIENCE_S


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.is_ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await waiting_accepted()
        await super().shutdown(sockets=sockets)


@contextmanager
def serving(app: Any, **options: Any) -> Iterator[str]:
    """Serve an ASGI application and give its address."""
    settings = {
        "access_log": False,
        "log_level": "error",
        # Past every client's own limit: a busy client notices the closing too late.
        "timeout_keep_alive": PATIENCE_S,
        **options,
    }
    config = uvicorn.Config(app, timeout_graceful_shutdown=1, **settings)
    server = _Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert server.is_ready.wait(PATIENCE_S), "the server did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)
