"""Work that takes turns: one at a time, unless that one takes long.

Short work in threads of one process is done soonest one after the other. Several at
once only fight for the interpreter, with each other and with the event loop, and lose
more to waking each other than they gain from waiting for the database side by side.

Turns go round among the callers (teams, mostly): one that asks for a hundred pages at
once keeps another one waiting for a single page of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any

from django.conf import settings
from django.http import parse_cookie

PATIENCE_S = 0.025
"""Who takes longer is not waited for any more: several times a short read."""


class Turns:
    """A queue for one event loop."""

    def __init__(self, patience_s: float = PATIENCE_S, most: int = 32) -> None:
        """`most`: how many at work at once, however long they take."""
        self.patience_s = patience_s
        self._most = most
        self._at_work = 0
        self._is_taken = False
        """True: one is at work that others wait for."""
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = (
            OrderedDict()
        )
        """By caller. The first key is next."""

    @asynccontextmanager
    async def one(self, key: Hashable = None) -> AsyncIterator[None]:
        """Wait for a turn; it ends with the block, or earlier if that takes long.

        `key`: the caller.
        """
        await self._take(key)
        turn = _Turn(self)
        loop = asyncio.get_running_loop()
        impatience = loop.call_later(self.patience_s, turn.end)
        try:
            yield
        finally:
            impatience.cancel()
            self._at_work -= 1
            turn.end()
            self._admit()  # there is room, if there was none

    def give_back(self) -> None:
        """End the turn of the one that others wait for."""
        self._is_taken = False
        self._admit()

    @property
    def _is_open(self) -> bool:
        return not self._is_taken and self._at_work < self._most

    def _admit(self) -> None:
        while self._waiting and self._is_open:
            key, line = self._waiting.popitem(last=False)
            first = line.popleft()
            if line:
                self._waiting[key] = line  # behind all the others
            if not first.done():  # done: it gave up
                self._begin()
                first.set_result(None)

    def _begin(self) -> None:
        self._is_taken = True
        self._at_work += 1

    async def _take(self, key: Hashable) -> None:
        if self._is_open and not self._waiting:
            self._begin()
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._at_work -= 1
                self.give_back()
            raise


class _Turn:
    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_over = False

    def end(self) -> None:
        """Let the next one begin, once."""
        if not self._is_over:
            self._is_over = True
            self._turns.give_back()


def signature_of(scope: Any) -> int:
    """Return what tells requests of different askers apart before they are known.

    A hash: what signs a request is a secret, and is not kept.
    """
    headers = dict(scope["headers"])
    key = headers.get(b"authorization", b"").decode("latin-1")
    cookies = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
    client = scope.get("client") or ("",)
    return hash(key or cookies.get(settings.SESSION_COOKIE_NAME) or client[0])
