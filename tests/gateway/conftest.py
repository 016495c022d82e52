"""A client of the gateway whose backend is scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import cached_property
from typing import Any

import orjson
import pytest

from apps.gateway.app import create_app
from apps.gateway.stream_sender import StreamTiming
from tests.gateway.fakes import KEY, Exchanged, FakeBackend, FakeRun

CHAT = "/v1/chat/completions"


class Client:
    """Sends requests to the application, in the test's own event loop."""

    def __init__(self) -> None:
        self.run = FakeRun()
        self.backend = FakeBackend(self.run)
        self.timing = StreamTiming()
        self.tasks: list[asyncio.Task[None]] = []

    @cached_property
    def app(self) -> Any:
        """Return the application, with the backend and timing as they are now."""
        return create_app(self.backend, self.timing)

    def open(
        self,
        method: str,
        path: str,
        *parts: bytes,
        key: str | None = KEY,
        headers: dict[str, str] | None = None,
    ) -> Exchanged:
        """Begin a request and return at once."""
        sent = {"content-type": "application/json", **(headers or {})}
        if key is not None:
            sent["authorization"] = f"Bearer {key}"
        raw = [(name.encode(), value.encode()) for name, value in sent.items()]
        exchanged = Exchanged(method, path, list(parts) or [b""], raw)
        call = self.app(exchanged.scope, exchanged.receive, exchanged.send)
        self.tasks.append(asyncio.ensure_future(call))
        return exchanged

    async def ask(
        self, method: str, path: str, *parts: bytes, **more: Any
    ) -> Exchanged:
        """Make a request and wait for the end of the answer."""
        exchanged = self.open(method, path, *parts, **more)
        await self.done()
        return exchanged

    async def chat(self, **fields: Any) -> Exchanged:
        """Ask for a completion; `fields` change a minimal good body."""
        return await self.ask("POST", CHAT, orjson.dumps(chat_body(**fields)))

    def open_chat(self, **fields: Any) -> Exchanged:
        """Begin a completion and return at once."""
        return self.open("POST", CHAT, orjson.dumps(chat_body(**fields)))

    async def done(self) -> None:
        """Wait until all requests have been answered or given up."""
        async with asyncio.timeout(5):
            await asyncio.gather(*self.tasks)


def chat_body(**fields: Any) -> dict[str, Any]:
    """Return a minimal good body with `fields` changed; ... leaves one out."""
    body = {
        "model": "conductor-mini",
        "messages": [{"role": "user", "content": "What is 6 times 7?"}],
        **fields,
    }
    return {name: value for name, value in body.items() if value is not ...}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a client; no task of a request may outlive the test."""
    client = Client()
    yield client
    for task in client.tasks:
        task.cancel()
    await asyncio.gather(*client.tasks, return_exceptions=True)
