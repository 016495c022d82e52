"""Two calls for one step: when the first stays silent for long, a rival is asked.

The one that brings the first item goes on, the other is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from apps.engine.errors import CallFailed, CallFault

ResultT = TypeVar("ResultT")
Lane = Coroutine[Any, Any, ResultT | None]
"""One call; None means that it failed and that this is on record."""


class Race(Generic[ResultT]):
    """Runs a call, and a second one if the first is silent for `patience_s`.

    Whoever makes the calls tells of them: `called` when one has left, `lead` with each
    item that one of them brings.
    """

    def __init__(self, patience_s: float, rival: Callable[[], Lane[ResultT]]) -> None:
        self._patience_s = patience_s
        self._rival = rival
        self._lanes: list[asyncio.Task[ResultT | None]] = []
        self._leader: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, first: Lane[ResultT]) -> ResultT | None:
        """Return the result of a lane, None if all that ran have failed.

        Raises: what the lanes raise. No lane is left running.
        """
        self._lanes.append(asyncio.create_task(first))
        try:
            return await self._result()
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

    async def _result(self) -> ResultT | None:
        while True:
            losers = self._others() if self._leader else []
            for lane in self._lanes:
                if lane.done() and lane not in losers:
                    result = lane.result()
                    if result is not None:
                        return result
            running = [lane for lane in self._lanes if not lane.done()]
            if not running:
                return None
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)

    def _others(self) -> list[asyncio.Task[ResultT | None]]:
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
