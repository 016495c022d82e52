"""Work that takes turns: one at a time, unless that one takes long.

Short work in threads of one process is done soonest one after the other. Several at
once only fight for the interpreter, with each other and with the event loop, and lose
more to waking each other than they gain from waiting for the database side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE_S = 0.025
"""Who takes longer is not waited for any more: several times a short read."""


class Turns:
    """A queue for one event loop."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._free = asyncio.Semaphore(1)
        self.patience_s = patience_s

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a turn; it ends with the block, or earlier if that takes long."""
        await self._free.acquire()
        turn = _Turn(self._free)
        loop = asyncio.get_running_loop()
        impatience = loop.call_later(self.patience_s, turn.end)
        try:
            yield
        finally:
            impatience.cancel()
            turn.end()


class _Turn:
    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_over = False

    def end(self) -> None:
        """Let the next one begin, once."""
        if not self._is_over:
            self._is_over = True
            self._free.release()
