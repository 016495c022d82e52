"""Answers that do not come, or come too late."""

from __future__ import annotations

from dataclasses import dataclass

from apps.simulator import models
from apps.simulator.connection import EVENT_STREAM
from apps.simulator.exchange import STREAM_HEADERS, SimulatedExchange

KEEP_ALIVE_S = 0.05
KEEP_ALIVE = b": still here\n\n"


async def silent(exchange: SimulatedExchange, _seed: int) -> None:
    """Send nothing at all."""
    await exchange.connection.wait_until_gone()


async def stall(exchange: SimulatedExchange, _seed: int) -> None:
    """Send headers and nothing else."""
    await _send_headers(exchange)
    await exchange.connection.wait_until_gone()


async def ping(exchange: SimulatedExchange, _seed: int) -> None:
    """Keep the line alive for ever, and say nothing."""
    await _send_headers(exchange)
    mark = KEEP_ALIVE if exchange.request.is_streamed else b" "
    while True:
        await exchange.connection.write(mark)
        await exchange.connection.pause(KEEP_ALIVE_S)


async def _send_headers(exchange: SimulatedExchange) -> None:
    is_streamed = exchange.request.is_streamed
    kind = EVENT_STREAM if is_streamed else b"application/json"
    await exchange.connection.start(200, kind, *STREAM_HEADERS)
    await exchange.connection.write(b"")


@dataclass(frozen=True, slots=True)
class Late:
    """Answers after a time of its own, or one token each time."""

    seconds: float
    is_trickle: bool

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        whole = models.answer_well(exchange.request, seed)
        if not self.is_trickle or not exchange.request.is_streamed:
            await exchange.connection.pause(self.seconds)
            await exchange.answer(whole)
            return
        await exchange.trickle(whole, self.seconds)
