"""Two calls for one step: when the first stays silent for long, a rival is asked.

The one that brings the first item goes on, the other is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from apps.engine.errors import CallFailed, CallFault

Lane = Coroutine[Any, Any, None]
"""One call. It returns when the call has ended, well or not, and that is noted."""


class Race:
    """Runs a call, and a second one if the first is silent for `patience_s`.

    Whoever makes the calls tells of them: `called` when one has left, `lead` with each
    item that one of them brings.
    """

    def __init__(self, patience_s: float, rival: Callable[[], Lane]) -> None:
        self._patience_s = patience_s
        self._rival = rival
        self._lanes: list[asyncio.Task[None]] = []
        self._leader: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, first: Lane) -> None:
        """Return when the call that leads has ended, or all that ran without a lead.

        Raises: what the lanes raise. No lane is left running.
        """
        self._lanes.append(asyncio.create_task(first))
        try:
            await self._end()
        finally:
            await self._close()

    def called(self) -> None:
        """Note that a call has left: the first one's patience begins."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._patience_s, self._start_rival)

    def lead(self) -> None:
        """Note that the running lane's call has brought something.

        Raises: CallFailed (cancelled) if the other one was quicker.
        """
        lane = asyncio.current_task()
        if self._leader is None:
            self._leader = lane
            self._disarm()
            for other in self._others():
                other.cancel()
        elif self._leader is not lane:
            raise CallFailed(CallFault.CANCELLED, "another worker was quicker")

    async def _end(self) -> None:
        while running := [lane for lane in self._lanes if not lane.done()]:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            losers = self._others() if self._leader is not None else []
            for lane in self._lanes:
                if lane.done() and lane not in losers:
                    lane.result()  # raises what it raised

    def _others(self) -> list[asyncio.Task[None]]:
        return [lane for lane in self._lanes if lane is not self._leader]

    def _start_rival(self) -> None:
        if not self._lanes[0].done():
            self._lanes.append(asyncio.create_task(self._rival()))

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def _close(self) -> None:
        """Close what still runs and wait for it, whatever else happens meanwhile."""
        self._disarm()
        for lane in self._lanes:
            lane.cancel()
        cancelled: asyncio.CancelledError | None = None
        while running := [lane for lane in self._lanes if not lane.done()]:
            try:
                await asyncio.wait(running)
            except asyncio.CancelledError as exc:
                cancelled = exc
        for lane in self._lanes:
            if not lane.cancelled():
                lane.exception()  # its own has been raised, or it came too late
        if cancelled is not None:
            raise cancelled
