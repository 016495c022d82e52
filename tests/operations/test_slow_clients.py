"""T4: connections that do not bring a whole request in time are closed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from conductor_site.serving.uvicorn_protocol import JoiningProtocol
from tests.serving import serving

SHORT_S, LONG_S = 1, 3600
PATIENCE_S = 20
"""How long a test waits for the end of a connection that should have been closed."""
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
HALF_A_BODY = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Read the request, then answer with its body."""
    if scope["type"] != "http":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "open"})
        await receive()
        return
    body, has_more = b"", True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        has_more = message.get("more_body", False)
    length = str(len(body)).encode()
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-length", length)],
        }
    )
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    # uvicorn's own limit after an answer is out of the way: ours is what is tried.
    options = {"http": JoiningProtocol, "timeout_keep_alive": LONG_S}
    with serving(app, lifespan="off", **options) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        yield host, int(port)


def limits(settings: Any, *, head_s: int, body_s: int) -> None:
    settings.REQUEST_HEAD_TIMEOUT_S = head_s
    settings.REQUEST_BODY_TIMEOUT_S = body_s


def is_closed(connection: socket.socket) -> bool:
    """Return True once the server has closed; False if it says something instead."""
    return connection.recv(1000) == b""


@pytest.mark.parametrize(
    "beginning", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: here\r\n"]
)
def test_connection_without_a_whole_head_is_closed(server, settings, beginning):
    """T4: nothing at all, or half a head."""
    limits(settings, head_s=SHORT_S, body_s=LONG_S)
    with socket.create_connection(server, PATIENCE_S) as connection:
        connection.sendall(beginning)
        assert is_closed(connection)


def test_socket_without_a_whole_handshake_is_closed(server, settings):
    """T4: a websocket's handshake is a head like any other."""
    limits(settings, head_s=SHORT_S, body_s=LONG_S)
    with socket.create_connection(server, PATIENCE_S) as connection:
        connection.sendall(
            b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        )
        assert is_closed(connection)


@pytest.mark.parametrize("next_head", [b"", b"GET / HT"])
def test_idle_connection_is_closed_after_its_answer(server, settings, next_head):
    """T4: kept alive and idle, or with half of the next head."""
    limits(settings, head_s=SHORT_S, body_s=LONG_S)
    with socket.create_connection(server, PATIENCE_S) as connection:
        connection.sendall(REQUEST)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.sendall(next_head)
        assert is_closed(connection)


def test_body_that_does_not_come_to_its_end_is_cut_off(server, settings):
    """T4: a body has a limit of its own."""
    limits(settings, head_s=LONG_S, body_s=SHORT_S)
    with socket.create_connection(server, PATIENCE_S) as connection:
        connection.sendall(HALF_A_BODY)
        assert is_closed(connection)


def test_body_of_a_pipelined_request_has_its_limit_too(server, settings):
    limits(settings, head_s=LONG_S, body_s=SHORT_S)
    with socket.create_connection(server, PATIENCE_S) as connection:
        connection.sendall(REQUEST + HALF_A_BODY)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        assert is_closed(connection)


def test_body_may_take_longer_than_a_head(server, settings):
    limits(settings, head_s=SHORT_S, body_s=LONG_S)
    with (
        socket.create_connection(server, PATIENCE_S) as slow,
        socket.create_connection(server, PATIENCE_S) as idle,
    ):
        slow.sendall(HALF_A_BODY)
        assert is_closed(idle)  # as long as a head may take, and longer
        slow.sendall(b"x" * 96)
        assert slow.recv(1000).startswith(b"HTTP/1.1 200")


def test_socket_that_is_open_stays_open(server, settings):
    limits(settings, head_s=SHORT_S, body_s=SHORT_S)
    with (
        socket.create_connection(server, PATIENCE_S) as live,
        socket.create_connection(server, PATIENCE_S) as idle,
    ):
        live.sendall(
            b"GET /ws HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        heard = b""
        while b"open" not in heard:
            heard += live.recv(1000)
        assert is_closed(idle)
        live.setblocking(False)
        with pytest.raises(BlockingIOError):
            live.recv(1000)
