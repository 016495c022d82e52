"""Tracks whether Redis is down, for all code of this process that uses it.

Redis is disposable: all code that uses it works without it. A call without an answer
begins an outage; for RETRY_S there are no calls, so that a Redis that hangs costs one
wait and not one for each request. Then the next one tries again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import RedisError
from redis.retry import Retry

logger = logging.getLogger(__name__)
RETRY_S = 5.0
PATIENCE_S = 1.0
"""Longest wait for an answer; it comes within a millisecond where all is well."""
LOST = (RedisError, TimeoutError, RuntimeError)
"""How calls of the channel layer fail while Redis is away. It shares one connection
among its tasks, and two that open it again at once are refused by asyncio, which says
so with a RuntimeError."""
ONCE_MORE = (NoBackoff(), 1, (LostConnection,))
"""After a restart of Redis every connection that was open fails once."""


def hasty_client() -> dict[str, Any]:
    """Return the options of a client that does not wait long."""
    return {
        "socket_timeout": PATIENCE_S,
        "socket_connect_timeout": PATIENCE_S,
        "retry": Retry(*ONCE_MORE),
    }


def hasty_async_client() -> dict[str, Any]:
    """Return the options of an asynchronous client that does not wait long."""
    return {**hasty_client(), "retry": AsyncRetry(*ONCE_MORE)}


def listening_client() -> dict[str, Any]:
    """Return the options of an asynchronous client that waits for what comes."""
    return {"socket_timeout": None, "retry": AsyncRetry(*ONCE_MORE)}


class Outage:
    """A span of time in which Redis is not asked. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0

    @property
    def is_on(self) -> bool:
        """Say whether Redis failed to answer a moment ago."""
        return self._clock() < self._until

    def begin(self, fault: BaseException) -> None:
        """Leave Redis alone for RETRY_S, because of this fault."""
        if not self.is_on:
            logger.warning("Redis is away, going on without it: %r", fault)
        self._until = self._clock() + RETRY_S

    def end(self) -> None:
        """Ask Redis again, beginning with the next question."""
        self._until = 0.0

    async def tolerate(self, work: Awaitable[None]) -> None:
        """Await something that Redis does, not longer than PATIENCE_S; it may fail."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await work
        except LOST as exc:
            self.begin(exc)


redis_outage = Outage()
