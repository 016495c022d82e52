"""Work that takes turns, so that a flood of one team costs another one little.

Short work in threads of one process is done soonest one after the other (`Turns`).
Several at once only fight for the interpreter, with each other and with the event loop,
and lose more to waking each other than they gain from waiting for the database side by
side. Requests whose work is the event loop's are let in a few at a time (`Entrance`),
so that a turn of the loop is short however many have come.

Turns go round among teams: one that asks for a hundred pages at once keeps another one
waiting for a single page of them, whatever its keys and sessions (`KnownTeams`).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

from django.conf import settings
from django.http import parse_cookie

from apps.core.lines import Lines
from apps.core.requesters import Requester, network_of

PATIENCE_S = 0.025
"""Who takes longer is not waited for any more: several times a short read."""
ENTERING = 4
"""Requests for each turn of the event loop. A turn has costs of its own: one request at
a time served a quarter fewer of 32 at once (2 cores)."""
KNOWN_S = 600.0
"""How long a team is remembered by a key or session that asks for nothing."""
MAX_KNOWN = 10_000
API, REST = "/v1", "/api/"


class Turns:
    """A queue for one event loop."""

    def __init__(self, patience_s: float = PATIENCE_S, most: int = 32) -> None:
        """`most`: how many at work at once, however long they take."""
        self.patience_s = patience_s
        self._most = most
        self._at_work = 0
        self._is_taken = False
        """True: one is at work that others wait for."""
        self._lines: Lines[asyncio.Future[None]] = Lines()

    @asynccontextmanager
    async def one(self, key: Hashable = None) -> AsyncIterator[None]:
        """Wait for a turn; it ends with the block, or earlier if that takes long.

        `key`: whose turn it is.
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
        while self._lines and self._is_open:
            first = self._lines.pop()
            if not first.done():  # done: it gave up
                self._begin()
                first.set_result(None)

    def _begin(self) -> None:
        self._is_taken = True
        self._at_work += 1

    async def _take(self, key: Hashable) -> None:
        if self._is_open and not self._lines:
            self._lines.pass_by(key)
            self._begin()
            return
        place = asyncio.get_running_loop().create_future()
        self._lines.add(key, place)
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


class Entrance:
    """Lets a few in at each turn of the event loop."""

    def __init__(self, most: int = ENTERING) -> None:
        """`most`: how many for each turn of the loop."""
        self._most = most
        self._room = most
        """How many more may go in during this turn of the loop."""
        self._lines: Lines[asyncio.Future[None]] = Lines()

    async def enter(self, key: Hashable) -> None:
        """Return when it is the turn of one of `key`."""
        loop = asyncio.get_running_loop()
        if self._room == self._most:
            loop.call_soon(self._turn, loop)
        if self._room:
            self._lines.pass_by(key)
            self._room -= 1
            return
        place = loop.create_future()
        self._lines.add(key, place)
        await place

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._room = self._most
        while self._lines and self._room:
            first = self._lines.pop()
            if not first.done():  # done: it gave up
                first.set_result(None)
                self._room -= 1
        if self._room < self._most:
            loop.call_soon(self._turn, loop)


class KnownTeams:
    """Remembers the teams of keys and sessions that were authenticated of late.

    What nothing is known of counts by its address. What is remembered orders queues;
    every request is authenticated all the same.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[int, tuple[float, uuid.UUID]] = OrderedDict()
        """By signature: until when it is known, and of which team. Oldest first."""

    def requester_of(self, scope: Any) -> Requester:
        """Return what is known of a new connection."""
        signature = signature_of(scope)
        until, team_id = self._known.get(signature, (0.0, None))
        if team_id is not None and until > self._clock():
            return Requester(signature, team_id)
        client = scope.get("client") or ("",)
        return Requester(signature, network_of(client[0]))

    def learn(self, requester: Requester) -> None:
        """Remember the team that a connection turned out to be of, if any."""
        if requester.team_id is None:
            return
        self._known[requester.signature] = (self._clock() + KNOWN_S, requester.team_id)
        self._known.move_to_end(requester.signature)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


def signature_of(scope: Any) -> int:
    """Return what tells a connection's key or session from others.

    A hash: what signs a request is a secret, and is not kept. Headers that the server
    does not look at are no part of it.
    """
    headers, path = dict(scope["headers"]), scope["path"]
    key = headers.get(b"authorization", b"")
    if path.startswith(API):
        return hash((key, headers.get(b"x-api-key", b"")))
    if key and path.startswith(REST):
        return hash(key)
    cookies = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
    return hash(cookies.get(settings.SESSION_COOKIE_NAME, ""))
