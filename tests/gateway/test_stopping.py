"""What a request is told that still waits when its process ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apps.gateway.app import PathHandler
from apps.gateway.exchange import Exchange


async def test_request_that_is_cancelled_is_told_to_come_back() -> None:
    sent: list[Any] = []
    is_waiting = asyncio.Event()

    async def wait(exchange: Exchange) -> None:
        is_waiting.set()
        await asyncio.Event().wait()

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/v1/x", "headers": []}
    request = asyncio.create_task(PathHandler({"GET": wait})(scope, receive, send))
    await is_waiting.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    head, body = sent
    assert head["status"] == 503
    assert (b"retry-after", b"1") in head["headers"]
    assert b"overloaded" in body["body"]
