"""A provider that accepts every request and answers none until it is allowed to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.serving import serving

WAIT_S = 30


@dataclass
class Silent:
    """What has arrived, and the word to answer."""

    base_url: str = ""
    _count: int = 0
    _may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.AbstractEventLoop | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, count: int) -> None:
        """Return once so many requests have arrived."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._count >= count, WAIT_S)
        assert done, f"{self._count} of {count} requests arrived"

    def answer(self) -> None:
        """Let every request be answered."""
        if self._loop is None:  # nothing waits yet
            self._may_answer.set()
        else:
            self._loop.call_soon_threadsafe(self._may_answer.set)

    async def serve(self, request: Request) -> Response:
        """Serve one request."""
        self._loop = asyncio.get_running_loop()
        with self._changed:
            self._count += 1
            self._changed.notify_all()
        await self._may_answer.wait()
        return Response(status_code=503)


@contextmanager
def silent_provider() -> Iterator[Silent]:
    """Serve one on a free port; on the way out it answers."""
    silent = Silent()
    app = Starlette(
        routes=[Route("/{path:path}", silent.serve, methods=["GET", "POST"])]
    )
    with serving(app, ws="none") as url:
        silent.base_url = f"{url}/v1"
        try:
            yield silent
        finally:
            silent.answer()
