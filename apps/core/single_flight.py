"""Deduplicates concurrent identical reads: later requests await the first result.

A burst of requests after a pause finds every cache cold; without this each would send
the same query to the database's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class SingleFlight(Generic[KeyT, ValueT]):
    """Shares answers that are on their way. For one event loop."""

    def __init__(self, ask: Callable[[KeyT], Awaitable[ValueT]]) -> None:
        self._ask = ask
        self._flights: dict[KeyT, asyncio.Task[ValueT]] = {}

    async def get(self, key: KeyT) -> ValueT:
        """Return the answer for `key`. Raises: whatever the asking raises.

        Who is cancelled while waiting takes nothing from the others.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.create_task(self._fly(key))
            self._flights[key] = flight
            flight.add_done_callback(lambda done: self._land(key, done))
        return await asyncio.shield(flight)

    async def _fly(self, key: KeyT) -> ValueT:
        return await self._ask(key)

    def _land(self, key: KeyT, flight: asyncio.Task[ValueT]) -> None:
        self._flights.pop(key, None)
        if not flight.cancelled():
            flight.exception()  # seen, even if everybody who asked has left
