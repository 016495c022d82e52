"""A client that leaves: its answer stops at once, and the counts know of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from apps.simulator.app import create_app
from tests.simulator.asking import body


class Leaver:
    """An ASGI client that leaves at the first token, or without waiting for one."""

    def __init__(self, model: str, *, waits_for: bytes, stream: bool = True) -> None:
        self._body = json.dumps(body(model, "What is 6*7?", stream=stream)).encode()
        self._waits_for = waits_for
        self._has_left = asyncio.Event()
        self._has_asked = False
        self.received: list[bytes] = []
        self.transport = self  # a server closes its side through this

    def close(self) -> None:
        self._has_left.set()

    async def use(self, app: Any) -> None:
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/chat/completions",
            "headers": [],
        }
        async with asyncio.timeout(5):
            await app(scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        if not self._has_asked:
            self._has_asked = True
            if not self._waits_for:
                self._has_left.set()
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if data := message.get("body"):
            self.received.append(data)
            if self._waits_for in data:
                self._has_left.set()


async def stats(app: Any) -> tuple[int, int]:
    """Return how many answers are in flight, and how many clients left."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as client:
        data = (await client.get("/v1/stats")).json()
    return data["in_flight"], data["disconnected"]


@pytest.mark.parametrize("model", ["tokens-1000-1", "fault-idle"])
async def test_stream_stops_when_the_client_leaves(model: str) -> None:
    app = create_app()
    leaver = Leaver(model, waits_for=b'"content":"')
    await leaver.use(app)
    assert len(leaver.received) < 5
    assert await stats(app) == (0, 1)


@pytest.mark.parametrize("model", ["delay-600000", "fault-stall", "tokens-1000-1"])
async def test_silent_wait_stops_when_the_client_leaves(model: str) -> None:
    app = create_app()
    leaver = Leaver(model, waits_for=b"", stream=False)
    await leaver.use(app)
    assert leaver.received == []
    assert await stats(app) == (0, 1)


async def test_finished_answer_counts_as_no_disconnect() -> None:
    app = create_app(speed=0)
    await Leaver("instant", waits_for=b"never").use(app)
    assert await stats(app) == (0, 0)


async def test_server_that_hangs_up_counts_as_no_disconnect() -> None:
    app = create_app(speed=0)
    leaver = Leaver("fault-refuse", waits_for=b"never")
    await leaver.use(app)
    assert leaver.received == []
    assert await stats(app) == (0, 0)
