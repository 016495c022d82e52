"""Answers that break off: cut, ended early, fallen silent, or failed."""

from __future__ import annotations

from dataclasses import dataclass

from apps.simulator import models
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.problems import Kind, Problem
from apps.simulator.reply import SimulatedReply, first

IDLE_AFTER = 3
"""Tokens before `fault-idle` falls silent and `fault-error-event` fails."""
OVERLOADED = Problem(Kind.OVERLOADED, "The server is overloaded.")


async def cut(exchange: SimulatedExchange, seed: int) -> None:
    """Close the connection half-way."""
    await _begin(exchange, models.answer_well(exchange.request, seed))
    await exchange.connection.hang_up()


async def cut_plan(exchange: SimulatedExchange, seed: int) -> None:
    """Close the connection half-way through a plan."""
    whole = models.ask(models.FIXED["sim-conductor"], exchange.request, seed)
    await _begin(exchange, whole)
    await exchange.connection.hang_up()


async def cut_quietly(exchange: SimulatedExchange, seed: int) -> None:
    """End half-way as if all were well."""
    await _end_quietly(exchange, models.answer_well(exchange.request, seed))


async def _end_quietly(
    exchange: SimulatedExchange, whole: SimulatedReply, count: int | None = None
) -> None:
    """End early as if all were well: only the end marker is missing."""
    if exchange.request.is_streamed:
        await _begin(exchange, whole, count)
        await exchange.connection.write(b"", is_last=True)
    else:
        body = exchange.whole_body(whole)
        await exchange.connection.respond(200, body[: len(body) // 2])


async def _begin(
    exchange: SimulatedExchange, whole: SimulatedReply, count: int | None = None
) -> None:
    """Send the first tokens, half of them without `count`.

    Unstreamed, half of a body announced as whole.
    """
    await exchange.think(whole)
    if exchange.request.is_streamed:
        await exchange.begin_stream(whole)
        half = whole.token_count // 2
        await exchange.send_pieces(first(whole, half if count is None else count))
        return
    body = exchange.whole_body(whole)
    length = (b"content-length", str(len(body)).encode())
    await exchange.connection.start(200, b"application/json", length)
    await exchange.connection.write(body[: len(body) // 2])


async def idle(exchange: SimulatedExchange, seed: int) -> None:
    """Fall silent after a few tokens."""
    await _begin(exchange, models.answer_well(exchange.request, seed), IDLE_AFTER)
    await exchange.connection.wait_until_gone()


async def error_event(exchange: SimulatedExchange, seed: int) -> None:
    """Bring an error after a few tokens, under status 200."""
    await _fail_after(exchange, models.answer_well(exchange.request, seed), IDLE_AFTER)


async def _fail_after(
    exchange: SimulatedExchange, whole: SimulatedReply, count: int
) -> None:
    problem = Problem(Kind.SERVER, "The model crashed.")
    await _say_error(exchange, problem, first(whole, count))


async def overloaded_event(exchange: SimulatedExchange, _seed: int) -> None:
    """Bring an error instead of the first token, under status 200."""
    await _say_error(exchange, OVERLOADED, SimulatedReply(()))


async def _say_error(
    exchange: SimulatedExchange, problem: Problem, before: SimulatedReply
) -> None:
    """Send an error under status 200, in a stream after some tokens."""
    if not exchange.request.is_streamed:
        failure = exchange.surface.failure(problem)
        await exchange.connection.respond_json(200, failure.body)
        return
    await exchange.begin_stream(before)
    await exchange.send_pieces(before)
    await exchange.connection.write(exchange.framing.error_event(problem), is_last=True)


@dataclass(frozen=True, slots=True)
class After:
    """Breaks off after a number of tokens, in one of the ways above."""

    way: str
    count: int

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        whole = models.answer_well(exchange.request, seed)
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
