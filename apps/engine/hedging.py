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

    The code that makes the calls reports: `called` when one was sent, `lead` with each
    item received.
    """

    def __init__(self, patience_s: float, rival: Callable[[], Lane]) -> None:
        self._patience_s = patience_s
        self._rival = rival
        self._group = asyncio.TaskGroup()
        self._lanes: list[asyncio.Task[None]] = []
        self._leader: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, first: Lane) -> None:
        """Return when no call runs any more. Raises: the first thing a lane raises."""
        try:
            async with self._group:
                self._lanes.append(self._group.create_task(first))
        except BaseExceptionGroup as exc:
            raise exc.exceptions[0] from None

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
            if self._timer is not None:
                self._timer.cancel()
            for other in self._lanes:
                if other is not lane:
                    other.cancel()
        elif self._leader is not lane:
            raise CallFailed(CallFault.CANCELLED, "another worker was quicker")

    def _start_rival(self) -> None:
        if not self._lanes[0].done():  # else whoever asked decides what is next
            self._lanes.append(self._group.create_task(self._rival()))
