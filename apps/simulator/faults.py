"""Models that go wrong, each in one way, so that every fault can be met on purpose.

What such a model does say, it says as a worker that is always right; `[[say …]]` and
`[[call name {…}]]` in a question spell it out. Besides those with a fixed name:

- `cut-<n>`, `cut-quiet-<n>`, `idle-<n>`, `error-<n>`: the connection is closed, the
  stream ends without its end marker, falls silent, or brings an error, after n tokens.
- `flaky-<n>`: fails n times for each new request, then answers. `late-<ms>`: answers so
  late, `trickle-<ms>`: one token in this time, both whatever the simulator's speed.
- `context-<n>`: refuses more than n input tokens. `text-only`: images and tools.
- `json-once`, `schema-once`: what should be JSON is none, or breaks its schema, until
  the model is shown its own answer; `json-never`: always.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from apps.simulator import models
from apps.simulator.connection import EVENT_STREAM
from apps.simulator.exchange import STREAM_HEADERS, Exchange
from apps.simulator.problems import Kind, Problem
from apps.simulator.reply import Reply, count_prompt_tokens, first, reply

HTML = b"<!doctype html><title>502</title><h1>Bad gateway</h1>"
OTHER_MODEL = "another-model-2026"
IDLE_AFTER = 3
"""Tokens before `fault-idle` falls silent and `fault-error-event` fails."""
CONTEXT_TOKENS = 8192
"""What `fault-context-length` says its context is."""
KEEP_ALIVE_S = 0.05
KEEP_ALIVE = b": still here\n\n"
NO_JSON = "Certainly! The answer is: {answer"
WRONG_JSON = '["this is not what the schema asks for"]'
MAX_REMEMBERED = 100_000
"""Requests the faults with a memory know before they start over."""

Fault = Callable[[Exchange, int], Awaitable[None]]
"""Takes the exchange and the seed."""


def _good(exchange: Exchange, seed: int) -> Reply:
    return models.ask(models.perfect, exchange.request, seed)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Answers with an error."""

    problem: Problem

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        await exchange.refuse(self.problem)


class _Flaky:
    """Fails the first times it sees a request's messages, then answers."""

    def __init__(self, problem: Problem, times: int = 1) -> None:
        self._problem = problem
        self._times = times
        self._seen: dict[bytes, int] = {}

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        digest = hashlib.blake2b(repr(exchange.request.messages).encode()).digest()
        count = self._seen.get(digest, 0)
        if count >= self._times:
            await exchange.answer(_good(exchange, seed))
            return
        if len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
        self._seen[digest] = count + 1
        await exchange.refuse(self._problem)


async def _refuse(exchange: Exchange, _seed: int) -> None:
    await exchange.connection.hang_up()


# --- answers that break off -----------------------------------------------------------


async def _cut(exchange: Exchange, seed: int) -> None:
    await _begin(exchange, _good(exchange, seed))
    await exchange.connection.hang_up()


async def _cut_plan(exchange: Exchange, seed: int) -> None:
    whole = models.ask(models.FIXED["sim-conductor"], exchange.request, seed)
    await _begin(exchange, whole)
    await exchange.connection.hang_up()


async def _cut_quietly(exchange: Exchange, seed: int) -> None:
    await _end_quietly(exchange, _good(exchange, seed))


async def _end_quietly(
    exchange: Exchange, whole: Reply, count: int | None = None
) -> None:
    """End early as if all were well: only the end marker is missing."""
    if exchange.request.is_streamed:
        await _begin(exchange, whole, count)
        await exchange.connection.write(b"", is_last=True)
    else:
        body = exchange.whole_body(whole)
        await exchange.connection.respond(200, body[: len(body) // 2])


async def _begin(exchange: Exchange, whole: Reply, count: int | None = None) -> None:
    """Send the first tokens, half of them without `count`.

    Unstreamed, half of a body announced as whole.
    """
    await exchange.think(whole)
    if exchange.request.is_streamed:
        await exchange.begin_stream()
        half = whole.token_count // 2
        await exchange.send_pieces(first(whole, half if count is None else count))
        return
    body = exchange.whole_body(whole)
    length = (b"content-length", str(len(body)).encode())
    await exchange.connection.start(200, b"application/json", length)
    await exchange.connection.write(body[: len(body) // 2])


async def _idle(exchange: Exchange, seed: int) -> None:
    await _begin(exchange, _good(exchange, seed), IDLE_AFTER)
    await exchange.connection.wait_until_gone()


async def _error_event(exchange: Exchange, seed: int) -> None:
    await _fail_after(exchange, _good(exchange, seed), IDLE_AFTER)


async def _fail_after(exchange: Exchange, whole: Reply, count: int) -> None:
    problem = Problem(Kind.SERVER, "The model crashed.")
    await _say_error(exchange, problem, first(whole, count))


async def _overloaded_event(exchange: Exchange, _seed: int) -> None:
    await _say_error(exchange, OVERLOADED, Reply(()))


async def _say_error(exchange: Exchange, problem: Problem, before: Reply) -> None:
    """Send an error under status 200, in a stream after some tokens."""
    if not exchange.request.is_streamed:
        failure = exchange.surface.failure(problem)
        await exchange.connection.respond_json(200, failure.body)
        return
    await exchange.begin_stream()
    await exchange.send_pieces(before)
    await exchange.connection.write(exchange.framing.error_event(problem), is_last=True)


@dataclass(frozen=True, slots=True)
class _After:
    """Breaks off after a number of tokens, in one of the ways above."""

    way: str
    count: int

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        whole = _good(exchange, seed)
        match self.way:
            case "cut-quiet":
                await _end_quietly(exchange, whole, self.count)
            case "error":
                await _fail_after(exchange, whole, self.count)
            case "cut":
                await _begin(exchange, whole, self.count)
                await exchange.connection.hang_up()
            case _:
                await _begin(exchange, whole, self.count)
                await exchange.connection.wait_until_gone()


# --- answers that do not come ---------------------------------------------------------


async def _silent(exchange: Exchange, _seed: int) -> None:
    await exchange.connection.wait_until_gone()


async def _stall(exchange: Exchange, _seed: int) -> None:
    await _send_headers(exchange)
    await exchange.connection.wait_until_gone()


async def _ping(exchange: Exchange, _seed: int) -> None:
    """Keep the line alive for ever, and say nothing."""
    await _send_headers(exchange)
    mark = KEEP_ALIVE if exchange.request.is_streamed else b" "
    while True:
        await exchange.connection.write(mark)
        await exchange.connection.pause(KEEP_ALIVE_S)


async def _send_headers(exchange: Exchange) -> None:
    is_streamed = exchange.request.is_streamed
    kind = EVENT_STREAM if is_streamed else b"application/json"
    await exchange.connection.start(200, kind, *STREAM_HEADERS)
    await exchange.connection.write(b"")


@dataclass(frozen=True, slots=True)
class _Late:
    """Answers after a time of its own, or one token each time."""

    seconds: float
    is_trickle: bool

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        whole = _good(exchange, seed)
        if not self.is_trickle or not exchange.request.is_streamed:
            await exchange.connection.pause(self.seconds)
            await exchange.answer(whole)
            return
        await exchange.trickle(whole, self.seconds)


# --- answers in the wrong shape -------------------------------------------------------


async def _html(exchange: Exchange, _seed: int) -> None:
    await exchange.connection.respond(200, HTML, b"text/html; charset=utf-8")


async def _no_usage(exchange: Exchange, seed: int) -> None:
    await exchange.answer(_good(exchange, seed), has_usage=False)


async def _bad_json(exchange: Exchange, seed: int) -> None:
    if not exchange.request.is_streamed:
        await exchange.connection.respond(200, b'{"id": "chatcmpl-0", "choices": [{')
        return
    await exchange.begin_stream()
    await exchange.connection.write(exchange.framing.broken_event(), is_last=True)


async def _empty(exchange: Exchange, _seed: int) -> None:
    await exchange.answer(Reply(()))


async def _length(exchange: Exchange, seed: int) -> None:
    whole = _good(exchange, seed)
    half = first(whole, max(whole.token_count // 2, 1))
    await exchange.answer(replace(half, finish_reason="length"))


async def _other_model(exchange: Exchange, seed: int) -> None:
    exchange.rename(OTHER_MODEL)
    await exchange.answer(_good(exchange, seed))


async def _redirect(exchange: Exchange, _seed: int) -> None:
    path = str(exchange.connection.scope["path"])
    location = ((b"location", f"{path}/".encode()),)
    await exchange.connection.respond(307, b"", b"text/plain", location)


@dataclass(frozen=True, slots=True)
class _Malformed:
    """Says the wrong thing where JSON is asked for, at first or always."""

    text: str
    is_stubborn: bool = False

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        asked = exchange.request
        has_seen_it = any(m.text == self.text for m in asked.messages)
        if asked.format == "text" or (has_seen_it and not self.is_stubborn):
            await exchange.answer(_good(exchange, seed))
        else:
            await exchange.answer(reply(self.text))


# --- requests that are too much -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Narrow:
    """Refuses what is longer than its context."""

    most_tokens: int
    is_always: bool = False

    async def __call__(self, exchange: Exchange, seed: int) -> None:
        found = count_prompt_tokens(exchange.request)
        if found <= self.most_tokens and not self.is_always:
            await exchange.answer(_good(exchange, seed))
            return
        told = max(found, self.most_tokens + 1)
        await exchange.refuse(
            Problem(
                Kind.CONTEXT_LENGTH, found_tokens=told, most_tokens=self.most_tokens
            )
        )


async def _text_only(exchange: Exchange, seed: int) -> None:
    asked = exchange.request
    if asked.pictures or asked.tools:
        what = "image input" if asked.pictures else "tools"
        message = f"This model does not support {what}."
        await exchange.refuse(Problem(Kind.BAD_REQUEST, message))
    else:
        await exchange.answer(_good(exchange, seed))


# --- by name --------------------------------------------------------------------------

RATE_LIMITED = Problem(Kind.RATE_LIMITED, "Rate limit reached.")
CRASHED = Problem(Kind.SERVER, "The server had an error.")
OVERLOADED = Problem(Kind.OVERLOADED, "The server is overloaded.")
BREAK_OFF = re.compile(r"(cut-quiet|cut|idle|error)-(\d{1,6})")
TIMED = re.compile(r"(late|trickle)-(\d{1,6})")
FLAKY = re.compile(r"flaky-(\d{1,3})")
NARROW = re.compile(r"context-(\d{1,7})")


class Faults:
    """The models with faults; each instance has a memory of its own."""

    def __init__(self) -> None:
        self._fixed = faults()
        self._flaky: dict[str, Fault] = {}
        self.names = tuple(self._fixed)

    def find(self, name: str) -> Fault | None:
        """Return the model with a fault called `name`, or None if there is none."""
        if fault := self._fixed.get(name):
            return fault
        if match := BREAK_OFF.fullmatch(name):
            return _After(match[1], int(match[2]))
        if match := TIMED.fullmatch(name):
            return _Late(int(match[2]) / 1000, match[1] == "trickle")
        if match := NARROW.fullmatch(name):
            return _Narrow(int(match[1]))
        if match := FLAKY.fullmatch(name):
            return self._flaky.setdefault(name, _Flaky(CRASHED, int(match[1])))
        return None


def _refusals() -> dict[str, Fault]:
    return {
        "fault-429": _Refusal(RATE_LIMITED),
        "fault-429-once": _Flaky(RATE_LIMITED),
        "fault-500": _Refusal(CRASHED),
        "fault-500-once": _Flaky(CRASHED),
        "fault-overloaded": _Refusal(OVERLOADED),
        "fault-quota": _Refusal(
            Problem(Kind.QUOTA, "You exceeded your current quota, check your billing.")
        ),
        "fault-401": _Refusal(
            Problem(Kind.UNAUTHORIZED, "Incorrect API key provided.")
        ),
        "fault-403": _Refusal(Problem(Kind.FORBIDDEN, "This key may not do that.")),
        "fault-404": _Refusal(Problem(Kind.NO_MODEL, "The model does not exist.")),
        "fault-400": _Refusal(
            Problem(Kind.BAD_REQUEST, "The request is not acceptable.")
        ),
        "fault-context-length": _Narrow(CONTEXT_TOKENS, is_always=True),
    }


def faults() -> dict[str, Fault]:
    """Return the models with faults; each call has a memory of its own."""
    return {
        **_refusals(),
        "fault-refuse": _refuse,
        "fault-cut": _cut,
        "fault-cut-quiet": _cut_quietly,
        "fault-silent": _silent,
        "fault-stall": _stall,
        "fault-idle": _idle,
        "fault-ping": _ping,
        "fault-html": _html,
        "fault-no-usage": _no_usage,
        "fault-error-event": _error_event,
        "fault-overloaded-event": _overloaded_event,
        "fault-bad-json": _bad_json,
        "fault-empty": _empty,
        "fault-length": _length,
        "fault-other-model": _other_model,
        "fault-redirect": _redirect,
        "sim-conductor-cut": _cut_plan,
        "text-only": _text_only,
        "json-once": _Malformed(NO_JSON),
        "json-never": _Malformed(NO_JSON, is_stubborn=True),
        "schema-once": _Malformed(WRONG_JSON),
    }
