"""Answers that are not streamed and are large, nested or endless."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from apps.simulator.exchange import SimulatedExchange
from apps.simulator.faulty.hostile.sending import (
    MEGABYTE,
    PIECE_BYTES,
    Send,
    Sent,
    body_around,
    body_with_call,
    flood,
    nested,
)

DEPTH = 400
"""Deeper than JSON is written here, and not as deep as it is read."""


def _only(what: bytes, size: int) -> Sent:
    return Sent(lambda _exchange: flood(what, size))


def _said(said: bytes) -> Sent:
    return Sent(lambda exchange: body_around(exchange, (said,)))


def _called(arguments: bytes) -> Sent:
    return Sent(lambda exchange: (body_with_call(exchange, arguments),))


def _text(what: bytes, size: int) -> Sent:
    """Answer with a text of `size` bytes."""
    return Sent(
        lambda exchange: body_around(
            exchange, chain((b'"',), flood(what, size), (b'"',))
        )
    )


def _cut(exchange: SimulatedExchange) -> Iterator[bytes]:
    yield b"".join(body_around(exchange, (b'"x"',)))[:-20]


def _bytewise(exchange: SimulatedExchange) -> Iterator[bytes]:
    told = b"".join(body_around(exchange, (b'"x"',)))
    return (told[at : at + 1] for at in range(len(told)))


def _many_choices(_exchange: SimulatedExchange) -> Iterator[bytes]:
    yield b'{"choices":['
    yield from flood(b'{"message":{"content":"x"}},', 6 * MEGABYTE)
    yield b"{}]}"


WAYS: dict[str, Send] = {
    "empty": Sent(lambda _: ()),
    "brackets": _only(b"[", 30 * MEGABYTE),
    "flat-brackets": Sent(
        lambda _: chain((b"[",), flood(b"[],", 6 * MEGABYTE), (b"[]]",))
    ),
    "flat-texts": Sent(
        lambda _: chain((b"[",), flood(b'"",', 6 * MEGABYTE), (b'""]',))
    ),
    "spaces": Sent(lambda _: repeat(b" " * PIECE_BYTES)),
    "nested": _said(nested(DEPTH)),
    "nested-texts": _said(b'[{"text":' * DEPTH + b'"x"' + b"}]" * DEPTH),
    "nested-arguments": _called(nested(DEPTH)),
    "many-arguments": _called(b'{"a":[' + b"[]," * 100_000 + b"[]]}"),
    "endless-text": _text(b"x", 64 * MEGABYTE),
    "long-text": _text(b"x", 6 * MEGABYTE),
    "escaped-text": _text(b"\\u00e9", 6 * MEGABYTE),
    "think-tags": _text(b"<think></think>", 1_500_000),
    "many-choices": Sent(_many_choices),
    "digits": _only(b"9", 6 * MEGABYTE),
    "cut": Sent(_cut),
    "bytewise": Sent(_bytewise),
    "not-utf8": _said(b'"\xff\xfe\xc3\x28"'),
    "list": Sent(lambda _: (b"[]",)),
    "text": Sent(lambda _: (b'"hello"',)),
}
