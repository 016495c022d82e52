"""`GET /metrics`: what this process counts, in Prometheus's text format.

Web processes answer beside `/v1`, workers on METRICS_PORT. Requests need
METRICS_TOKEN; without one set, only direct requests from this machine are answered.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import platform
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import django
import uvicorn
from channels.db import database_sync_to_async
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFault

from apps.audit.checkpoints.creation import uncovered_s
from apps.core.errors import Overloaded
from apps.core.metrics import Gauge, Labels, Reading, exposition
from apps.runs.coordination.site_status import SiteStatus, site_status
from apps.runs.execution.executor import get_executor
from apps.runs.models import ProcessKind

logger = logging.getLogger(__name__)
PATH = "/metrics"
DATABASE_S = 2.0
"""How long an answer waits for the database; after that it is sent without it."""
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
FORWARDED = (b"x-forwarded-for", b"forwarded", b"x-real-ip")
"""Headers of requests that came through a proxy."""

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def _look() -> tuple[SiteStatus, float]:
    return site_status(), uncovered_s()


read_standing = database_sync_to_async(_look, thread_sensitive=False)


class _Site:
    """The latest look at the database. Of one event loop."""

    standing: SiteStatus | None = None
    """None: the database did not answer."""
    uncovered_s: float = 0.0
    """What `uncovered_s` said at the same look."""
    reading: asyncio.Task[tuple[SiteStatus, float]] | None = None
    """A look that is under way; a database that hangs is asked once, not each time."""

    async def look(self) -> None:
        """Read how the site stands, if the database answers in time."""
        if self.reading is None or self.reading.done():
            self.reading = asyncio.ensure_future(read_standing())
        try:
            async with asyncio.timeout(DATABASE_S):
                self.standing, self.uncovered_s = await asyncio.shield(self.reading)
        except (DatabaseFault, TimeoutError) as exc:
            self.standing = None
            logger.warning("metrics: the database does not answer: %s", exc)


_site = _Site()


def _live_runs() -> Reading:
    try:
        return {(): len(get_executor().live_ids)}
    except Overloaded:
        return {(): 0}


def _of_site(read: Callable[[SiteStatus], float]) -> Callable[[], Reading]:
    def reading() -> Reading:
        return {} if _site.standing is None else {(): read(_site.standing)}

    return reading


def _processes() -> Reading:
    standing = _site.standing
    if standing is None:
        return {}
    return {(kind,): standing.live_processes(kind) for kind in ProcessKind.values}


def _info() -> Reading:
    labels: Labels = (platform.python_version(), django.get_version())
    return {labels: 1}


Gauge("live_runs", "Runs executing in this process.", _live_runs)
Gauge("info", "What this process runs on.", _info, ("python", "django"))
Gauge(
    "database_up",
    "1 if the database answered within two seconds.",
    lambda: {(): float(_site.standing is not None)},
)
Gauge("processes", "Processes of the site with a lease.", _processes, ("kind",))
Gauge(
    "processes_expired",
    "Leases that have run out and were not swept yet.",
    _of_site(lambda standing: standing.expired),
)
Gauge(
    "runs_unfinished",
    "Runs of the whole site that have not ended.",
    _of_site(lambda standing: standing.unfinished),
)
Gauge(
    "runs_waiting",
    "Runs of the whole site without an owner: the queue.",
    _of_site(lambda standing: standing.waiting),
)
Gauge(
    "oldest_waiting_seconds",
    "How long the first of them has been on record.",
    _of_site(lambda standing: standing.oldest_waiting_s),
)
Gauge(
    "checkpoint_lag_seconds",
    "Age of the oldest ledger entry that no copied checkpoint stands for.",
    _of_site(lambda _: _site.uncovered_s),
)


async def metrics_application(scope: Scope, receive: Any, send: Send) -> None:
    """Answer one request."""
    if scope["type"] != "http":
        raise ValueError(f"no {scope['type']!r} here")
    if scope["path"] != PATH:
        await _answer(send, 404, b"there is nothing here\n")
    elif scope["method"] not in ("GET", "HEAD"):
        await _answer(send, 405, b"GET only\n", (b"allow", b"GET, HEAD"))
    elif not _may_read(scope):
        hint = (b"www-authenticate", b'Bearer realm="metrics"')
        await _answer(send, 401, b"METRICS_TOKEN is asked for\n", hint)
    else:
        await _site.look()
        body = exposition() if scope["method"] == "GET" else b""
        await _answer(send, 200, body)


def _may_read(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    if settings.METRICS_TOKEN:
        given = headers.get(b"authorization", b"")
        wanted = b"Bearer " + settings.METRICS_TOKEN.encode()
        return hmac.compare_digest(given, wanted)
    if any(name in headers for name in FORWARDED):
        return False
    host = (scope.get("client") or ("",))[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _answer(
    send: Send, status: int, body: bytes, header: tuple[bytes, bytes] | None = None
) -> None:
    headers = [
        (b"content-type", CONTENT_TYPE),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    if header is not None:
        headers.append(header)
    start = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


# --- worker processes ----------------------------------------------------------------


class _Server(uvicorn.Server):
    """Serves until it is stopped; the process handles signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class MetricsPort:
    """The address at which a process without one serves its metrics."""

    def __init__(self) -> None:
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Serve on METRICS_PORT, if it is set, on the running loop.

        Raises: ImproperlyConfigured if the port is taken.
        """
        if not settings.METRICS_PORT:
            return
        listener = _listen(settings.METRICS_PORT)
        config = uvicorn.Config(
            metrics_application,
            access_log=False,
            log_config=None,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))

    async def close(self) -> None:
        """Stop serving."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("0.0.0.0", port))  # nosec B104
    except OSError as exc:
        listener.close()
        raise ImproperlyConfigured(
            f"METRICS_PORT={port}: cannot be listened on: {exc.strerror}"
        ) from exc
    return listener
