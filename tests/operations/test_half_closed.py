"""A client that has said all waits for its answer; one that is gone is found out."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from conductor_site.serving import uvicorn_protocol
from conductor_site.serving.uvicorn_protocol import PROBE, JoiningProtocol
from tests.patience import PATIENCE_S
from tests.serving import serving

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class App:
    """Waits until its client is gone, or until it may answer."""

    def __init__(self) -> None:
        self.is_gone = threading.Event()
        self.may_end = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["path"] == "/wait":
            assert (await receive())["type"] == "http.disconnect"
            self.is_gone.set()
            return
        head = {"type": "http.response.start", "status": 200, "headers": []}
        await send(head)
        if scope["path"] == "/hold":
            await send({"type": "http.response.body", "body": b"so", "more_body": True})
            listening = asyncio.create_task(receive())
            await asyncio.to_thread(self.may_end.wait, PATIENCE_S)
            listening.cancel()
            return
        for more_body in (True, False):
            body = {"type": "http.response.body", "body": b"so", "more_body": more_body}
            await send(body)


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def address(app: App, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(uvicorn_protocol, "PROBE_INTERVAL_S", 0.01)
    with serving(app, lifespan="off", http=JoiningProtocol) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        yield host, int(port)


def test_a_client_that_closes_is_gone(app: App, address: Any) -> None:
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.sendall(b"GET /wait HTTP/1.1\r\nHost: here\r\n\r\n")
    assert app.is_gone.wait(PATIENCE_S)


def test_a_client_that_waits_with_half_a_connection_is_probed(
    app: App, address: Any
) -> None:
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.sendall(b"GET /wait HTTP/1.1\r\nHost: here\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(len(PROBE), socket.MSG_WAITALL) == PROBE
        assert connection.recv(len(PROBE), socket.MSG_WAITALL) == PROBE
        assert not app.is_gone.is_set()
    assert app.is_gone.wait(PATIENCE_S)


def test_no_probe_falls_into_the_answer_before(app: App, address: Any) -> None:
    held = b"GET /hold HTTP/1.1\r\nHost: here\r\n\r\n"
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.sendall(held + REQUEST)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while b" 102 " not in answer and (piece := connection.recv(1000)):
            answer += piece
        app.may_end.set()
    assert answer.count(b"HTTP/1.1") == 1


def test_half_a_request_is_no_request(address: Any) -> None:
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.sendall(REQUEST[:-4])
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1000) == b""
