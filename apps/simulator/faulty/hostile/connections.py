"""Answers that are no proper HTTP, or that announce something else than they send."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from apps.simulator.connection import JSON
from apps.simulator.faulty.hostile.sending import MEGABYTE, Raw, Send, Sent, flood

OK = b"HTTP/1.1 200 OK\r\n"
EVENTS = b"content-type: text/event-stream\r\n"
CHUNKED = OK + EVENTS + b"transfer-encoding: chunked\r\n\r\n"
GZIPPED = ((b"content-encoding", b"gzip"),)
TINY_CHUNKS = 300_000


def _raw(data: bytes, *, stays: bool = False) -> Raw:
    return Raw(lambda: (data,), stays)


def _long_header() -> Iterator[bytes]:
    return chain((OK, b"x-long: "), flood(b"x", MEGABYTE), (b"\r\n\r\n",))


def _many_headers() -> Iterator[bytes]:
    return chain((OK,), flood(b"x-many: 1\r\n", 2 * MEGABYTE), (b"\r\n",))


def _notices() -> Iterator[bytes]:
    return flood(b"HTTP/1.1 103 Early Hints\r\n\r\n", 2 * MEGABYTE)


def _tiny_chunks() -> Iterator[bytes]:
    tiny = b"1\r\n \r\n" * 1000
    return chain((CHUNKED,), repeat(tiny, TINY_CHUNKS // 1000), (b"0\r\n\r\n",))


def _long_extension() -> Iterator[bytes]:
    return chain((CHUNKED, b"5;"), flood(b"x", MEGABYTE), (b"\r\nhello\r\n0\r\n\r\n",))


def _trailers() -> Iterator[bytes]:
    many = flood(b"x-many: 1\r\n", 2 * MEGABYTE)
    return chain((CHUNKED, b"0\r\n"), many, (b"\r\n",))


def _bomb(*_: object) -> Iterator[bytes]:
    return flood(b"\x1f\x8b\x08\x00" + b"\0" * 60, MEGABYTE)


WAYS: dict[str, Send] = {
    "noise": _raw(bytes(range(256)) * 100),
    "long-status": Raw(lambda: chain((b"HTTP/1.1 200 ",), flood(b"x", MEGABYTE))),
    "wrong-version": _raw(b"HTTP/9.9 200 OK\r\n\r\n"),
    "strange-status": _raw(b"HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n"),
    "no-status": _raw(b"\r\n\r\n"),
    "long-header": Raw(_long_header),
    "many-headers": Raw(_many_headers),
    "many-notices": Raw(_notices, stays=True),
    "switch": _raw(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"
        b"hello"
    ),
    "long-length": _raw(OK + b"content-length: 900\r\n\r\n{}"),
    "huge-length": _raw(OK + b"content-length: 9999999999999\r\n\r\n{}", stays=True),
    "negative-length": _raw(OK + b"content-length: -1\r\n\r\n{}"),
    "two-lengths": _raw(OK + b"content-length: 2\r\ncontent-length: 9\r\n\r\n{}"),
    "bad-chunk": _raw(CHUNKED + b"zzzz\r\nhello\r\n"),
    "huge-chunk": _raw(CHUNKED + b"ffffffffffffffffff\r\nhello\r\n"),
    "tiny-chunks": Raw(_tiny_chunks),
    "long-extension": Raw(_long_extension),
    "many-trailers": Raw(_trailers),
    "compressed": Sent(_bomb, headers=GZIPPED),
    "compressed-error": Sent(_bomb, 500, JSON, GZIPPED),
    "long-redirect": _raw(
        b"HTTP/1.1 307 Go\r\nlocation: /" + b"x" * 7000 + b"\r\n\r\n"
    ),
    "nothing": _raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
}
