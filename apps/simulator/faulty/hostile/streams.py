"""Streams that never end, say nothing, or bring what is hard to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count

import orjson

from apps.simulator.connection import JSON
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.faulty.hostile.sending import (
    CALL,
    MEGABYTE,
    TEXT,
    Body,
    Send,
    Sent,
    closing,
    event_with,
    events_with_call,
    flood,
    nested,
    opening,
)
from apps.simulator.problems import Kind, Problem
from apps.simulator.reply import TokenPart

DEPTH = 400
"""Deeper than JSON is written here, and not as deep as it is read."""
FLOOD = 40 * MEGABYTE


def _only(what: bytes, size: int = FLOOD) -> Sent:
    """Say nothing but `what`, again and again."""
    return Sent(lambda _exchange: flood(what, size))


def _after(body: Body) -> Sent:
    """Begin properly, then go wrong, then end properly."""

    def whole(exchange: SimulatedExchange) -> Iterator[bytes]:
        yield opening(exchange)
        yield from body(exchange)
        yield closing(exchange)

    return Sent(whole)


def _line(what: bytes, size: int, before: bytes = b"") -> Sent:
    """Send one event of one line, in many pieces."""
    return _after(lambda _: chain((b"data: ", before), flood(what, size), (b"\n\n",)))


def _event(payload: bytes) -> Sent:
    return _after(lambda _: (b"data: " + payload + b"\n\n",))


def _said(said: bytes) -> Sent:
    return _after(lambda exchange: (event_with(exchange, said),))


def _called(arguments: bytes) -> Sent:
    return _after(lambda exchange: (events_with_call(exchange, arguments),))


def _error(what: bytes, size: int) -> Sent:
    """Send an error whose message is `what`, again and again."""

    def body(exchange: SimulatedExchange) -> Iterator[bytes]:
        told = exchange.framing.error_event(Problem(Kind.SERVER, TEXT))
        before, _, after = told.partition(TEXT.encode())
        return chain((before,), flood(what, size), (after,))

    return _after(body)


def _tokens(text: str, size: int, kind: str = "text") -> Sent:
    """Send the same token until the answer has `size` characters."""

    def body(exchange: SimulatedExchange) -> Iterable[bytes]:
        part = TokenPart("reasoning" if kind == "reasoning" else "text", text)
        frame = exchange.framing.frame(part)
        return (frame, *flood(exchange.framing.frame(part), size * 16))

    return _after(body)


def _calls(exchange: SimulatedExchange) -> Iterator[bytes]:
    for index in count():
        yield exchange.framing.frame(
            TokenPart("call", "", index, CALL, is_first=True, is_last=True)
        )


def _long_arguments(exchange: SimulatedExchange) -> Iterator[bytes]:
    frame = exchange.framing.frame
    yield frame(TokenPart("call", "", 0, CALL, is_first=True))
    part = TokenPart("call", "x" * 1000, 0, CALL, is_last=True)
    yield from (frame(part) for _ in range(20_000))


def _bytewise(exchange: SimulatedExchange) -> Iterator[bytes]:
    told = b"".join((opening(exchange), event_with(exchange, b'"x"') * 20))
    yield from (told[at : at + 1] for at in range(len(told)))
    yield closing(exchange)


def _types(value: object) -> Sent:
    """Put `value` where every protocol has something else."""
    keys = ("choices", "candidates", "delta", "content_block", "message", "usage")
    kinds = ("content_block_delta", "content_block_start", "message_start")
    wrong: dict[str, object] = dict.fromkeys((*keys, "index", "usageMetadata"), value)
    said = [b"data: " + orjson.dumps({**wrong, "type": k}) + b"\n\n" for k in kinds]
    return _after(lambda _: said)


def _odd_index(exchange: SimulatedExchange) -> Iterator[bytes]:
    block = {"type": "tool_use", "id": "a", "name": "go", "input": {}}
    odd: tuple[object, ...] = ([], {}, "0", None, -1, 1.5, 10**18)
    for index in odd:
        call = {"index": index, "function": {"name": "go", "arguments": "{}"}}
        told = {
            "type": "content_block_start",
            "index": index,
            "content_block": block,
            "choices": [{"delta": {"tool_calls": [call]}}],
        }
        yield b"data: " + orjson.dumps(told) + b"\n\n"


WAYS: dict[str, Send] = {
    "error-hard": _error(b"exceed", 600_000),
    "error-long": _error(b"x", 20 * MEGABYTE),
    "error-nested": _event(b'{"error":' + nested(DEPTH) + b"}"),
    "empty-lines": _only(b"\n"),
    "empty-lines-cr": _only(b"\r"),
    "empty-lines-crlf": _only(b"\r\n"),
    "empty-data": _only(b"data:\n"),
    "empty-events": _only(b"data:\n\n"),
    "blank-events": _only(b"data:  \n\n"),
    "silent-events": _only(b"data: {}\n\n"),
    "comments": _only(b":\n"),
    "fields": _only(b"id: 1\nretry: 1\n\n"),
    "event-names": _only(b"event: ping\n\n"),
    "long-comment": Sent(lambda _: chain((b":",), flood(b"x", FLOOD))),
    "long-line": _line(b"x", FLOOD),
    "long-event": _only(b"data: x\n"),
    "long-name": Sent(lambda _: flood(b"data", FLOOD)),
    "brackets": _line(b"[", 900_000),
    "objects": _line(b'{"a":', 900_000),
    "flat-brackets": _line(b"[],", 900_000),
    "flat-texts": _line(b'"",', 900_000, b"["),
    "quotes": _line(b'"', 900_000),
    "backslashes": _line(b"\\", 900_000),
    "commas": _line(b",", 900_000),
    "digits": _line(b"9", 900_000),
    "long-key": _event(b'{"' + b"k" * 900_000 + b'":1}'),
    "many-keys": _event(orjson.dumps({f"k{number}": {} for number in range(30_000)})),
    "nested": _said(nested(DEPTH)),
    "nested-lists": _said(b"[" * DEPTH + b"]" * DEPTH),
    "nested-texts": _said(b'[{"text":' * DEPTH + b'"x"' + b"}]" * DEPTH),
    "nested-too-deep": _said(nested(5000)),
    "nested-arguments": _called(nested(DEPTH)),
    "nested-arguments-too-deep": _called(nested(5000)),
    "many-arguments": _called(b'{"a":[' + b"[]," * 100_000 + b"[]]}"),
    "long-text": _tokens("x" * 4000, 4 * MEGABYTE),
    "long-text-in-one": _said(b'"' + b"x" * 900_000 + b'"'),
    "escaped-text": _said(b'"' + b"\\u00e9" * 150_000 + b'"'),
    "short-tokens": _tokens("\U0001f4a5", 3 * MEGABYTE),
    "long-thinking": _tokens("x" * 4000, 4 * MEGABYTE, "reasoning"),
    "think-tags": _said(orjson.dumps("<think></think>" * 60_000)),
    "half-tags": _said(orjson.dumps("<" * 900_000)),
    "many-calls": _after(_calls),
    "long-arguments": _after(_long_arguments),
    "odd-index": _after(_odd_index),
    "bytewise": Sent(_bytewise),
    "not-utf8": _said(b'"\xff\xfe\xc3\x28"'),
    "surrogates": _said(b'"\\ud800"'),
    "zeros": _only(b"\0", MEGABYTE),
    "types-number": _types(7),
    "types-text": _types("x"),
    "types-list": _types([[], {}, None, 1]),
    "types-object": _types({"a": {"b": []}}),
    "types-null": _types(None),
    "huge-usage": _event(
        b'{"usage":{"prompt_tokens":1e999,"completion_tokens":-5},"usageMetadata":'
        b'{"promptTokenCount":1e999}}',
    ),
    "html": Sent(lambda _: flood(b"<p>no</p>", 5 * MEGABYTE)),
    "json": Sent(lambda _: flood(b"{}", 5 * MEGABYTE)),
    "as-json": Sent(lambda _: flood(b"data: {}\n\n", FLOOD), kind=JSON),
    "marks": _only(b"\xef\xbb\xbf", MEGABYTE),
    "two-ends": Sent(lambda e: (opening(e), closing(e), closing(e))),
    "after-end": Sent(lambda e: chain((closing(e),), flood(b"x", FLOOD))),
}
