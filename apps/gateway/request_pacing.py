"""Lets streams that are under way go before requests that begin.

A request that begins is work for a millisecond or two. When many come while streams are
live, the tokens would wait for them, and every reader would see it. So new requests go
in one by one, by turns of the teams, each in a turn of the event loop that was short;
while nothing is streamed they go in at once. So does the first one of a team that has
begun nothing for a moment: it does not wait because of what others stream.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import NamedTuple

from apps.core.lines import Lines

BUSY_S = 0.004
"""A turn of the event loop that takes longer has work enough."""
PATIENCE_S = 0.25
"""Who has waited so long goes in, busy or not."""
MOMENT_S = 0.05
"""A team of which nothing went in for so long does not wait."""


class _Place(NamedTuple):
    turn: asyncio.Future[None]
    since_s: float
    team: Hashable


class AdmissionQueue:
    """The way in for new requests."""

    def __init__(
        self, has_streams: Callable[[], bool], clock: Callable[[], float] = monotonic
    ) -> None:
        self._has_streams = has_streams
        self._clock = clock
        self._lines: Lines[_Place] = Lines()
        self._let_in: OrderedDict[Hashable, float] = OrderedDict()
        """When something of a team went in. Oldest first; those of the last moment."""
        self._is_turning = False
        self._turned_at = 0.0

    async def enter(self, team: Hashable) -> None:
        """Return when it is the turn of this request of a team."""
        if not self._has_streams():
            return
        now = self._clock()
        if self._is_new(team, now):
            self._note(team, now)
            return
        loop = asyncio.get_running_loop()
        place = _Place(loop.create_future(), now, team)
        self._lines.add(team, place)
        if not self._is_turning:
            self._is_turning = True
            self._turned_at = now
            loop.call_soon(self._turn, loop)
        await place.turn

    def _is_new(self, team: Hashable, now: float) -> bool:
        let_in = self._let_in.get(team)
        is_new = let_in is None or now - let_in >= MOMENT_S
        return is_new and team not in self._lines

    def _note(self, team: Hashable, now: float) -> None:
        self._let_in[team] = now
        self._let_in.move_to_end(team)
        while now - next(iter(self._let_in.values())) >= MOMENT_S:
            self._let_in.popitem(last=False)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        now = self._clock()
        is_busy = now - self._turned_at > BUSY_S
        self._turned_at = now
        while self._lines and self._lines.first().turn.done():
            self._lines.pop()  # gave up
        if self._lines:
            first = self._lines.first()
            if not is_busy or now - first.since_s >= PATIENCE_S:
                self._lines.pop()
                self._note(first.team, now)
                first.turn.set_result(None)
        self._is_turning = bool(self._lines)
        if self._is_turning:
            loop.call_soon(self._turn, loop)
