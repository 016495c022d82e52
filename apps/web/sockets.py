"""What a websocket goes through before it reaches a consumer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from apps.web.middleware import SECOND_FACTORS

App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


class SecondFactorSockets:
    """Where REQUIRE_MFA is set, knows nobody who signed in with one factor."""

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
