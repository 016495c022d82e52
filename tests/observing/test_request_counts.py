"""Requests and sockets, counted by a few fixed classes."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.request_metrics import REQUESTS, count_request, open_sockets, route_class
from conductor_site import asgi


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/", "pages"),
        ("/runs/", "pages"),
        ("/api/v1/runs/", "rest"),
        ("/apiary/", "pages"),
        ("/static/css/base.css", "static"),
        ("/admin/", "admin"),
        ("/accounts/login/", "accounts"),
        ("/metrics", "metrics"),
        ("/a-name-somebody-made-up", "pages"),
        ("", "pages"),
    ],
)
def test_addresses_fall_into_few_classes(path: str, wanted: str):
    assert route_class(path) == wanted


@pytest.mark.parametrize(
    ("status", "wanted"), [(200, "2xx"), (503, "5xx"), (0, "0xx"), (999, "5xx")]
)
def test_statuses_fall_into_few_classes(status: int, wanted: str):
    before = REQUESTS.value("pages", wanted)
    count_request("pages", status, 0.1)
    assert REQUESTS.value("pages", wanted) == before + 1


async def test_a_socket_is_counted_while_it_is_open(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []

    async def serve(*_: Any) -> None:
        seen.append(open_sockets())
        raise ConnectionError("gone")

    monkeypatch.setattr(asgi, "rest", serve)
    before = open_sockets()
    with pytest.raises(ConnectionError):
        scope = {"type": "websocket", "path": "/ws/", "headers": []}
        await asgi.application(scope, None, None)  # type: ignore[arg-type]
    assert seen == [before + 1]
    assert open_sockets() == before


async def test_a_request_that_breaks_is_counted_too(monkeypatch: pytest.MonkeyPatch):
    async def serve(*_: Any) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(asgi, "rest", serve)
    before = REQUESTS.value("pages", "0xx")
    with pytest.raises(ConnectionError):
        await asgi.application({"type": "http", "path": "/x/"}, None, None)  # type: ignore[arg-type]
    assert REQUESTS.value("pages", "0xx") == before + 1
