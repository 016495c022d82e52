"""`/healthz` and `/readyz`, for proxies and supervisors. Outside of Django, which would
send probes to https and refuse those that come by address.

`/healthz`: the process serves; if not, restart it. `/readyz`: requests should be sent
here; if not, send them elsewhere. It names each part with one word or sentence, none of
them secret, and looks at most once a second, however often it is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson
import redis.asyncio
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from apps.audit.writer import get_writer
from apps.core.errors import Overloaded
from apps.core.single_flight import SingleFlight
from apps.runs.execution.executor import get_executor
from conductor_site.pending_migrations import pending_migrations
from conductor_site.serving.drain import drain

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PATHS = frozenset(("/healthz", "/readyz"))
PATIENCE_S = 3.0
"""A part that is silent for so long is not there."""
FRESH_S = 1.0
"""How long an answer is given again."""
OK = "ok"
DISPENSABLE = frozenset(("redis",))
"""The site works without it, and all processes lose it at once: if each of them refused
requests, none would be answered."""


async def server_options(send: Send) -> None:
    """Answer `OPTIONS *`, which asks about the server. Source: RFC 9110, 9.3.7."""
    allowed = (b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
    await send({"type": "http.response.start", "status": 204, "headers": [allowed]})
    await send({"type": "http.response.body"})


class NotReady(Exception):
    """A part is down; the message is public."""


class Readiness:
    """What `/readyz` answers. For one event loop."""

    def __init__(self) -> None:
        self._flight = SingleFlight(self._look)
        self._seen_at = -FRESH_S
        self._lines: dict[str, str] = {}

    async def lines(self) -> dict[str, str]:
        """Return a word or sentence for each part; all are OK if all is well."""
        if time.monotonic() - self._seen_at >= FRESH_S:
            self._lines = await self._flight.get(())
            self._seen_at = time.monotonic()
        return {"process": "is stopping" if drain.has_begun else OK, **self._lines}

    async def _look(self, _: tuple[()]) -> dict[str, str]:
        parts = {
            "database": database_sync_to_async(look_at_database),
            "ledger": look_at_ledger,
            "executor": look_at_executor,
        }
        if settings.REDIS_URL:
            parts["redis"] = look_at_redis
        told = await asyncio.gather(*(_told(look) for look in parts.values()))
        return dict(zip(parts, told, strict=True))


async def _told(look: Callable[[], Awaitable[None]]) -> str:
    try:
        async with asyncio.timeout(PATIENCE_S):
            await look()
    except NotReady as exc:
        return str(exc)
    except TimeoutError:
        return f"no answer within {PATIENCE_S:.0f} s"
    except Exception as exc:  # noqa: BLE001  (whatever a driver raises is an answer)
        return f"fails: {type(exc).__name__}"
    return OK


def look_at_database() -> None:
    """Raise NotReady if some of this version's migrations are missing."""
    if missing := pending_migrations(connections[DEFAULT_DB_ALIAS]):
        raise NotReady(f"{len(missing)} migrations are pending")


async def look_at_ledger() -> None:
    """Raise NotReady if nothing can be recorded."""
    if not get_writer().is_open:
        raise NotReady("is closed")


async def look_at_executor() -> None:
    """Raise NotReady if this process executes no runs."""
    try:
        get_executor()
    except Overloaded as exc:
        raise NotReady("is not open") from exc


async def look_at_redis() -> None:
    """Ask Redis for a sign of life."""
    async with redis.asyncio.Redis.from_url(settings.REDIS_URL) as client:
        await client.ping()


readiness = Readiness()


async def health(path: str, send: Send) -> None:
    """Answer one of PATHS."""
    if path == "/healthz":
        await _answer(send, 200, {"status": OK})
        return
    lines = await readiness.lines()
    missing = {name for name, line in lines.items() if line != OK}
    if missing - DISPENSABLE:
        await _answer(send, 503, {"status": "not ready", "parts": lines})
    else:
        status = "degraded" if missing else OK
        await _answer(send, 200, {"status": status, "parts": lines})


async def _answer(send: Send, status: int, document: dict[str, Any]) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
    ]
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def closing(send: Send) -> Send:
    """Return `send` with answers that close their connections."""

    async def send_and_close(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            message = {**message, "headers": headers}
        await send(message)

    return send_and_close
