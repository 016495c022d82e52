"""Errors that are large, endless, or hard to read and to search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

import orjson

from apps.simulator.connection import JSON
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.faulty.hostile.sending import (
    MEGABYTE,
    PIECE_BYTES,
    Body,
    Send,
    Sent,
    flood,
    nested,
)
from apps.simulator.problems import Kind, Problem

HARD_CHARACTERS = 60_000
"""As much of an error as fits into what clients usually read of one."""
HARD = ("exceed", "exceeds context ", "context length ", "input token count ", "a\t")


def _told(message: str, kind: Kind = Kind.BAD_REQUEST) -> Body:
    """Return an error in the protocol's own shape, with the status 200."""

    def body(exchange: SimulatedExchange) -> Iterable[bytes]:
        yield orjson.dumps(exchange.surface.failure(Problem(kind, message)).body)

    return body


def _plain(make: Callable[[], Iterable[bytes]]) -> Body:
    return lambda _exchange: make()


def _refused(body: Body, status: int = 400) -> Sent:
    return Sent(body, status, JSON)


def _long_message() -> Iterator[bytes]:
    yield b'{"error":{"message":"'
    yield from flood(b"exceed", 20 * MEGABYTE)
    yield b'"}}'


def _object(error: object) -> Body:
    return lambda _exchange: (orjson.dumps({"error": error}),)


_DETAIL = {"reason": "x" * 40, "violations": [{"quotaId": "y"}] * 20}
_MANY_WORDS = {"code": [["x"] * 20] * 400, "type": {"a": 1}, "status": ["x"] * 5000}

WAYS: dict[str, Send] = {
    **{
        f"hard-{number}": _refused(_told(text * (HARD_CHARACTERS // len(text))))
        for number, text in enumerate(HARD)
    },
    "long": _refused(_plain(_long_message), 500),
    "long-200": Sent(_plain(_long_message), kind=JSON),
    "hard-200": Sent(_told("exceed" * 100_000), kind=JSON),
    "brackets": _refused(_plain(lambda: flood(b"[", 30 * MEGABYTE))),
    "nested": _refused(lambda _: (b'{"error":', nested(500), b"}")),
    "nested-message": _refused(
        lambda _: (b'{"error":{"message":', nested(500), b',"code":', nested(90), b"}}")
    ),
    "spaces": _refused(_told(" " * HARD_CHARACTERS)),
    "control": _refused(_told("\x1b[31m\u202e" * 6000)),
    "details": _refused(_object({"message": "no", "details": [_DETAIL] * 60})),
    "words": _refused(_object({"message": "no", **_MANY_WORDS})),
    "long-word": _refused(_object({"message": "no", "code": "x" * 50_000})),
    "long-number": _refused(lambda _: (b'{"error":{"code":' + b"9" * 50_000 + b"}}",)),
    "html": Sent(lambda _: flood(b"<p>no</p>", 5 * MEGABYTE), 502, b"text/html"),
    "endless": _refused(lambda _: repeat(b" " * PIECE_BYTES), 500),
    "not-utf8": _refused(lambda _: (b'{"error":{"message":"\xff\xfe\xc3"}}',), 500),
    "wait": Sent(_object("busy"), 429, JSON, ((b"retry-after", b"9" * 300),)),
    "odd-wait": Sent(_object("busy"), 429, JSON, ((b"retry-after", b"Mon, " * 900),)),
}
