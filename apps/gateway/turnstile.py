"""Lets streams that are under way go before requests that begin.

A request that begins is work for a millisecond or two. When many come while streams are
live, the tokens would wait for them, and every reader would see it. So new requests go
in one by one, each in a turn of the event loop that was short; while nothing is
streamed they go in at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

BUSY_S = 0.004
"""A turn of the event loop that takes longer has work enough."""
PATIENCE_S = 0.25
"""Who has waited so long goes in, busy or not."""


class _Place(NamedTuple):
    turn: asyncio.Future[None]
    since_s: float


class Turnstile:
    """The way in for new requests; first come, first served."""

    def __init__(
        self, has_streams: Callable[[], bool], clock: Callable[[], float] = monotonic
    ) -> None:
        self._has_streams = has_streams
        self._clock = clock
        self._line: deque[_Place] = deque()
        self._turned_at = 0.0

    async def enter(self) -> None:
        """Return when it is this request's turn."""
        if not self._has_streams():
            return
        loop = asyncio.get_running_loop()
        place = _Place(loop.create_future(), self._clock())
        self._line.append(place)
        if len(self._line) == 1:
            self._turned_at = place.since_s
            loop.call_soon(self._turn, loop)
        await place.turn

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        now = self._clock()
        is_busy = now - self._turned_at > BUSY_S
        self._turned_at = now
        while self._line and self._line[0].turn.done():
            self._line.popleft()  # gave up
        if self._line and not (is_busy and now - self._line[0].since_s < PATIENCE_S):
            self._line.popleft().turn.set_result(None)
        if self._line:
            loop.call_soon(self._turn, loop)
