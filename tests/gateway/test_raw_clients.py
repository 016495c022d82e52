"""C9: clients that speak HTTP in unusual ways."""

from __future__ import annotations

import socket

import orjson

from tests.conftest import Site

PATIENCE_S = 30


def exchange(site: Site, request: bytes, *, ends: bool = False) -> bytes:
    """Return all that the server says; `ends`: the client says that it is done."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        connection.sendall(request)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        pieces = list(iter(lambda: connection.recv(65_536), b""))
    return b"".join(pieces)


def question(site: Site, version: str, **fields: object) -> bytes:
    message = {"role": "user", "content": "What is 6 times 7?"}
    body = orjson.dumps({"model": "conductor-mini", "messages": [message], **fields})
    head = (
        f"POST /v1/chat/completions HTTP/{version}\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {site.key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def test_options_of_the_whole_server_are_answered(site: Site) -> None:
    request = b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    head = exchange(site, request).lower()
    assert head.startswith(b"http/1.1 204 ")
    assert b"\r\nallow: " in head


def test_a_stream_to_an_old_client_comes_unframed(site: Site) -> None:
    head, _, body = exchange(site, question(site, "1.0", stream=True)).partition(
        b"\r\n\r\n"
    )
    assert b"transfer-encoding" not in head.lower()
    lines = body.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    assert all(line.startswith(("data: ", ":")) for line in lines[:-1])


def test_an_old_client_gets_a_whole_answer_with_its_length(site: Site) -> None:
    head, _, body = exchange(site, question(site, "1.0")).partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head.lower()
    assert "42" in orjson.loads(body)["choices"][0]["message"]["content"]


def test_a_client_that_has_said_all_gets_its_answer(site: Site) -> None:
    answer = exchange(site, question(site, "1.1"), ends=True)
    head, _, body = answer.rpartition(b"\r\n\r\n")
    assert b"HTTP/1.1 200 OK" in head
    assert "42" in orjson.loads(body)["choices"][0]["message"]["content"]


def test_a_client_that_has_said_all_gets_its_stream(site: Site) -> None:
    answer = exchange(site, question(site, "1.1", stream=True), ends=True)
    assert b"data: [DONE]" in answer
