"""Middleware of websockets."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from apps.web.middleware import SECOND_FACTORS

TOO_MANY_SOCKETS = 4429
FLOODED = 1008
"""The protocol's own code for a client that breaks the rules."""
MAX_MESSAGES, MESSAGES_S = 100, 10
App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


class BoundedSockets:
    """Holds a person to so many sockets, and a socket to so many messages.

    No message is expected of a client, so a few are let pass and a flood is not.
    """

    def __init__(self, inner: App) -> None:
        self.inner = inner
        self._open: Counter[uuid.UUID] = Counter()

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        channel = _Channel(receive, send)
        if not scope["user"].is_authenticated:
            await self.inner(scope, channel.receive, channel.send)
            return
        user_id = scope["user"].pk
        if self._open[user_id] >= settings.SOCKETS_PER_PERSON:
            await _refuse(receive, send, TOO_MANY_SOCKETS, "too many open connections")
            return
        self._open[user_id] += 1
        try:
            await self.inner(scope, channel.receive, channel.send)
        finally:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]


class _Channel:
    """One socket, until its client has sent more than it may."""

    def __init__(self, receive: Any, send: Any) -> None:
        self._receive = receive
        self._send = send
        self._began = 0.0
        self._count = 0
        self._is_closed = False

    async def receive(self) -> Any:
        message = await self._receive()
        if message["type"] != "websocket.receive" or not self._is_flooded():
            return message
        self._is_closed = True
        reason = f"more than {MAX_MESSAGES} messages in {MESSAGES_S} s"
        await self._send({"type": "websocket.close", "code": FLOODED, "reason": reason})
        return {"type": "websocket.disconnect", "code": FLOODED, "reason": reason}

    async def send(self, message: Any) -> None:
        if not self._is_closed:
            await self._send(message)

    def _is_flooded(self) -> bool:
        now = time.monotonic()
        if now - self._began > MESSAGES_S:
            self._began, self._count = now, 0
        self._count += 1
        return self._count > MAX_MESSAGES


async def no_such_socket(
    scope: MutableMapping[str, Any], receive: Any, send: Any
) -> None:
    """Refuse a websocket to an address that has none."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


async def _refuse(receive: Any, send: Any, code: int, reason: str) -> None:
    """Accept, so that a browser can read why, and close."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": code, "reason": reason})


class SecondFactorSockets:
    """Where REQUIRE_MFA is set, refuses people who signed in with one factor."""

    def __init__(self, inner: App) -> None:
        self.inner = inner

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        if settings.REQUIRE_MFA and not await _has_second_factor(scope["user"]):
            scope = {**scope, "user": AnonymousUser()}
        await self.inner(scope, receive, send)


_has_second_factor = database_sync_to_async(
    partial(is_mfa_enabled, types=SECOND_FACTORS)
)
