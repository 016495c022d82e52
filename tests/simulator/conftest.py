"""A simulator in the same process, and one behind a real socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import uvicorn

from apps.simulator.app import create_app
from tests.simulator.asking import Asker


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=create_app(speed=0))
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as client:
        yield client


@pytest.fixture
def ask(client: httpx.AsyncClient) -> Asker:
    return Asker(client)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.is_ready.set()


@pytest.fixture(scope="package")
def server_url() -> Iterator[str]:
    """Serve on a free port of this machine, in a thread of its own."""
    options: dict[str, Any] = {"ws": "none", "access_log": False, "log_level": "error"}
    app = create_app(speed=0)
    server = _Server(uvicorn.Config(app, timeout_graceful_shutdown=1, **options))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        assert server.is_ready.wait(10)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(10)


@pytest.fixture
async def remote(server_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server_url, timeout=5) as client:
        yield client
