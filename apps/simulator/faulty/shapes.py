"""Answers in an unexpected shape."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps.simulator import models
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.reply import SimulatedReply, first, reply

HTML = b"<!doctype html><title>502</title><h1>Bad gateway</h1>"
OTHER_MODEL = "another-model-2026"


async def html(exchange: SimulatedExchange, _seed: int) -> None:
    """Send a page instead of JSON."""
    await exchange.connection.respond(200, HTML, b"text/html; charset=utf-8")


async def no_usage(exchange: SimulatedExchange, seed: int) -> None:
    """Answer without saying what it took."""
    await exchange.answer(models.answer_well(exchange.request, seed), has_usage=False)


async def bad_json(exchange: SimulatedExchange, seed: int) -> None:
    """Send JSON that is broken."""
    if not exchange.request.is_streamed:
        await exchange.connection.respond(200, b'{"id": "chatcmpl-0", "choices": [{')
        return
    await exchange.begin_stream(SimulatedReply(()))
    await exchange.connection.write(exchange.framing.broken_event(), is_last=True)


async def empty(exchange: SimulatedExchange, _seed: int) -> None:
    """Say nothing, and end properly."""
    await exchange.answer(SimulatedReply(()))


async def length(exchange: SimulatedExchange, seed: int) -> None:
    """End half-way for want of tokens."""
    whole = models.answer_well(exchange.request, seed)
    half = first(whole, max(whole.token_count // 2, 1))
    await exchange.answer(replace(half, finish_reason="length"))


async def other_model(exchange: SimulatedExchange, seed: int) -> None:
    """Answer in the name of another model."""
    exchange.rename(OTHER_MODEL)
    await exchange.answer(models.answer_well(exchange.request, seed))


async def redirect(exchange: SimulatedExchange, _seed: int) -> None:
    """Send the client elsewhere."""
    path = str(exchange.connection.scope["path"])
    location = ((b"location", f"{path}/".encode()),)
    await exchange.connection.respond(307, b"", b"text/plain", location)


@dataclass(frozen=True, slots=True)
class Malformed:
    """Says the wrong thing where JSON is asked for, at first or always."""

    text: str
    is_stubborn: bool = False

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        asked = exchange.request
        has_seen_it = any(m.text == self.text for m in asked.messages)
        if asked.format == "text" or (has_seen_it and not self.is_stubborn):
            await exchange.answer(models.answer_well(exchange.request, seed))
        else:
            await exchange.answer(reply(self.text))
