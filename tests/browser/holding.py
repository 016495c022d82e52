"""Simulated models that stop in the middle of an answer until a test lets them go on.

What a page shows during a run is looked at while its models are held, so no test
depends on how fast the machine is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send


class HeldModels:
    """The simulator, with a stop in each streamed answer and one before its end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._after = 0
        self._may_pass = threading.Event()
        self._may_end = threading.Event()
        self.release()

    def hold(self, after: int = 0) -> None:
        """Stop answers from now on: after about so many tokens, and before their end.

        Shorter answers end. Without `after` all answers stop, before their end alone.
        A simulator that is late sends several tokens at once, so more may come.
        """
        self._after = after
        self._may_pass.clear()
        self._may_end.clear()

    def go_on(self) -> None:
        """Let answers go on to their end, but not end."""
        self._may_pass.set()

    def release(self) -> None:
        """Let answers end, and hold no later ones."""
        self._may_pass.set()
        self._may_end.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_held = scope["type"] == "http" and not self._may_end.is_set()
        await self._app(scope, receive, self._held(send) if is_held else send)

    def _held(self, send: Send) -> Callable[[Any], Any]:
        sent = 0

        async def held(message: Any) -> None:
            nonlocal sent
            if message["type"] == "http.response.body" and sent >= max(self._after, 1):
                if self._after:
                    await asyncio.to_thread(self._may_pass.wait)
                if not message.get("more_body", False):
                    await asyncio.to_thread(self._may_end.wait)
            sent += message.get("body", b"").count(b"data: ")
            await send(message)

        return held
