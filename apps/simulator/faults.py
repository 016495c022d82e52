"""Models that go wrong, each in one way, so that every fault can be met on purpose.

What such a model does say, it says as a worker that is always right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from apps.simulator import models, wire
from apps.simulator.connection import EVENT_STREAM, Headers
from apps.simulator.exchange import STREAM_HEADERS, Exchange
from apps.simulator.reply import Reply

HTML = b"<!doctype html><title>502</title><h1>Bad gateway</h1>"
RETRY_AFTER_S = b"1"
OTHER_MODEL = "another-model-2026"
IDLE_AFTER = 3
"""Tokens before `fault-idle` falls silent."""
MAX_REMEMBERED = 100_000
"""Requests the `-once` faults remember before they start over."""

Fault = Callable[[Exchange, int], Awaitable[None]]
"""Takes the exchange and the seed."""


def _good(exchange: Exchange, seed: int) -> Reply:
    worker = replace(models.PERFECT, name=exchange.request.model)
    return models.work(worker, exchange.request, seed)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Answers with an error in OpenAI's shape."""

    status: int
    message: str
    kind: str
    code: str
    headers: Headers = ()

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        body = wire.error(self.message, kind=self.kind, code=self.code)
        await exchange.connection.respond_json(self.status, body, self.headers)


class _Once:
    """Fails the first time it sees a request's messages, then answers."""

    def __init__(self, refusal: _Refusal) -> None:
        self._refusal = refusal
        self._seen: set[bytes] = set()

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        digest = hashlib.blake2b(repr(exchange.request.messages).encode()).digest()
        if digest in self._seen:
            await exchange.answer(_good(exchange, seed))
            return
        if len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
        self._seen.add(digest)
        await self._refusal(exchange, seed)


async def _refuse(exchange: Exchange, _seed: int) -> None:
    await exchange.connection.hang_up()


async def _cut(exchange: Exchange, seed: int) -> None:
    await _send_half(exchange, _good(exchange, seed))
    await exchange.connection.hang_up()


async def _cut_plan(exchange: Exchange, seed: int) -> None:
    await _send_half(exchange, models.FIXED["sim-conductor"](exchange.request, seed))
    await exchange.connection.hang_up()


async def _send_half(exchange: Exchange, whole: Reply) -> None:
    """Send the first half of the tokens; unstreamed, of a body announced as whole."""
    await exchange.think(whole)
    if exchange.request.is_streamed:
        await exchange.begin_stream()
        await exchange.send_pieces(_first(whole, len(whole.pieces) // 2))
        return
    body = exchange.whole_body(whole)
    length = (b"content-length", str(len(body)).encode())
    await exchange.connection.start(200, b"application/json", length)
    await exchange.connection.write(body[: len(body) // 2])


async def _cut_quietly(exchange: Exchange, seed: int) -> None:
    """End half-way as if all were well: only the end marker is missing."""
    whole = _good(exchange, seed)
    if exchange.request.is_streamed:
        await _send_half(exchange, whole)
        await exchange.connection.write(b"", is_last=True)
    else:
        body = exchange.whole_body(whole)
        await exchange.connection.respond(200, body[: len(body) // 2])


async def _stall(exchange: Exchange, _seed: int) -> None:
    is_streamed = exchange.request.is_streamed
    kind = EVENT_STREAM if is_streamed else b"application/json"
    await exchange.connection.start(200, kind, *STREAM_HEADERS)
    await exchange.connection.write(b"")
    await exchange.connection.wait_until_gone()


async def _idle(exchange: Exchange, seed: int) -> None:
    if exchange.request.is_streamed:
        await exchange.begin_stream()
        await exchange.send_pieces(_first(_good(exchange, seed), IDLE_AFTER))
        await exchange.connection.wait_until_gone()
    else:
        await _send_half(exchange, _good(exchange, seed))
        await exchange.connection.wait_until_gone()


async def _html(exchange: Exchange, _seed: int) -> None:
    await exchange.connection.respond(200, HTML, b"text/html; charset=utf-8")


async def _no_usage(exchange: Exchange, seed: int) -> None:
    await exchange.answer(_good(exchange, seed), has_usage=False)


async def _error_event(exchange: Exchange, seed: int) -> None:
    error = wire.error("The model crashed.", kind="server_error", code="server_error")
    if not exchange.request.is_streamed:
        await exchange.connection.respond_json(200, error)
        return
    await exchange.begin_stream()
    await exchange.send_pieces(_first(_good(exchange, seed), IDLE_AFTER))
    await exchange.connection.write(wire.event(error), is_last=True)


async def _bad_json(exchange: Exchange, seed: int) -> None:
    if not exchange.request.is_streamed:
        await exchange.connection.respond(200, b'{"id": "chatcmpl-0", "choices": [{')
        return
    await exchange.begin_stream()
    broken = b'data: {"id": "chatcmpl-0", "choices": [{"delta": \n\n'
    await exchange.connection.write(broken + wire.DONE, is_last=True)


async def _empty(exchange: Exchange, _seed: int) -> None:
    await exchange.answer(Reply(()))


async def _length(exchange: Exchange, seed: int) -> None:
    whole = _good(exchange, seed)
    half = _first(whole, max(len(whole.pieces) // 2, 1))
    await exchange.answer(replace(half, finish_reason="length"))


async def _other_model(exchange: Exchange, seed: int) -> None:
    exchange.rename(OTHER_MODEL)
    await exchange.answer(_good(exchange, seed))


async def _redirect(exchange: Exchange, _seed: int) -> None:
    location = ((b"location", b"/v1/chat/completions/"),)
    await exchange.connection.respond(307, b"", b"text/plain", location)


def _first(whole: Reply, count: int) -> Reply:
    return replace(whole, pieces=whole.pieces[:count])


_RATE_LIMITED = _Refusal(
    429,
    "Rate limit reached.",
    "rate_limit_error",
    "rate_limit_exceeded",
    ((b"retry-after", RETRY_AFTER_S),),
)
_CRASHED = _Refusal(500, "The server had an error.", "server_error", "server_error")


def faults() -> dict[str, Fault]:
    """Return the models with faults; each call has a memory of its own."""
    return {
        "fault-refuse": _refuse,
        "fault-429": _RATE_LIMITED,
        "fault-429-once": _Once(_RATE_LIMITED),
        "fault-500": _CRASHED,
        "fault-500-once": _Once(_CRASHED),
        "fault-cut": _cut,
        "fault-cut-quiet": _cut_quietly,
        "fault-stall": _stall,
        "fault-idle": _idle,
        "fault-html": _html,
        "fault-no-usage": _no_usage,
        "fault-error-event": _error_event,
        "fault-bad-json": _bad_json,
        "fault-401": _Refusal(
            401,
            "Incorrect API key provided.",
            "invalid_request_error",
            "invalid_api_key",
        ),
        "fault-400": _Refusal(
            400,
            "The request is not acceptable.",
            "invalid_request_error",
            "invalid_value",
        ),
        "fault-context-length": _Refusal(
            400,
            "This model's maximum context length is 8192 tokens.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
        "fault-empty": _empty,
        "fault-length": _length,
        "fault-other-model": _other_model,
        "fault-redirect": _redirect,
        "sim-conductor-cut": _cut_plan,
    }
