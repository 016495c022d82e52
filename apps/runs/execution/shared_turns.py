"""Shares the turns of conversations among the processes of a site, through Redis.

The next turn may come to any process. Under a keyed digest of what was said are the
workers that answered and their places, no text. Redis is disposable: a turn that is not
found costs a provider's cache, never an answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from redis.asyncio import BlockingConnectionPool, Redis

from apps.core.hmacs import HmacSha256
from apps.core.keyring import derived_secrets
from apps.core.redis_outage import PATIENCE_S, hasty_async_client, redis_outage
from apps.engine.plan import PlannedStep

logger = logging.getLogger(__name__)
MAX_CONNECTIONS = 4
PREFIX = b"conversation-turn:"
PURPOSE = b"conversation turns in redis"


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """What answered a turn, without any text that a model wrote."""

    steps: tuple[PlannedStep, ...]
    is_direct: bool
    ended_at: float
    """Seconds since 1970, by the clock of the machine that executed it."""


class SharedTurns:
    """The turns that the processes of a site know together. Of one event loop."""

    def __init__(self, url: str, kept_s: float) -> None:
        """Keep turns for `kept_s` in the Redis at `url`."""
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=PATIENCE_S,
            **hasty_async_client(),
        )
        self._redis = Redis.from_pool(pool)
        self._kept_ms = round(1000 * kept_s)
        self._hmac = HmacSha256(derived_secrets(PURPOSE)[0])
        self._tasks: set[asyncio.Task[None]] = set()

    async def find(self, digest: bytes) -> AnsweredTurn | None:
        """Return a turn; None if no process knows it, or Redis is away."""
        values: list[Any] = []
        if not redis_outage.is_on:
            await redis_outage.tolerate(self._read(digest, values))
        return _turn(values[0]) if values and values[0] is not None else None

    def put(self, digest: bytes, turn: AnsweredTurn) -> None:
        """Keep a turn without waiting for it."""
        if redis_outage.is_on:
            return
        task = asyncio.create_task(redis_outage.tolerate(self._write(digest, turn)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait for what is being written, and close the connections."""
        if self._tasks:
            await asyncio.wait(self._tasks)  # each ends after PATIENCE_S
        await self._redis.aclose()

    async def _read(self, digest: bytes, values: list[Any]) -> None:
        values.append(await self._redis.get(self._key(digest)))

    async def _write(self, digest: bytes, turn: AnsweredTurn) -> None:
        steps = [[step.subtask, step.worker, step.access] for step in turn.steps]
        value = orjson.dumps([steps, turn.is_direct, turn.ended_at])
        await self._redis.set(self._key(digest), value, px=self._kept_ms)

    def _key(self, digest: bytes) -> bytes:
        return PREFIX + self._hmac.digest(digest)


def shared_turns(kept_s: float) -> SharedTurns | None:
    """Return what the processes of this site share; None: there is no Redis."""
    return SharedTurns(settings.REDIS_URL, kept_s) if settings.REDIS_URL else None


def _turn(stored: bytes) -> AnsweredTurn | None:
    try:
        steps, is_direct, ended_at = orjson.loads(stored)
        planned = tuple(
            PlannedStep(str(subtask), str(worker), tuple(map(int, access)))
            for subtask, worker, access in steps
        )
        return AnsweredTurn(planned, bool(is_direct), min(float(ended_at), time.time()))
    except (ValueError, TypeError):
        logger.warning("a turn of a conversation in Redis is unreadable")
        return None
