"""Who is asking, and whether their key may do what they ask."""

from __future__ import annotations

from apps.accounts.models import Scope
from apps.accounts.types import KeyHolder
from apps.core.errors import NotAllowed, NotAuthenticated
from apps.gateway.exchange import Exchange
from apps.gateway.ports import Backend

RUN_SCOPE = Scope.RUN.value
DIRECT_SCOPE = Scope.DIRECT.value
"""Needed on top to call one worker without a plan."""
BEARER = b"bearer "
MAX_KEY_BYTES = 200
"""Longer than any key; nothing longer is looked up."""


async def authenticate(exchange: Exchange, backend: Backend) -> KeyHolder:
    """Return whom the request's bearer key speaks for. Raises: NotAuthenticated."""
    header = exchange.headers.get(b"authorization", b"")
    if not header:
        raise NotAuthenticated("no API key; send the header 'Authorization: Bearer …'")
    raw = header[len(BEARER) :].strip()
    if header[: len(BEARER)].lower() != BEARER or not 0 < len(raw) <= MAX_KEY_BYTES:
        raise NotAuthenticated("the Authorization header holds no bearer key")
    return await backend.authenticate(raw.decode("latin-1"))


def require_scope(holder: KeyHolder, scope: str) -> None:
    """Check that the key has `scope`. Raises: NotAllowed."""
    if scope not in holder.scopes:
        raise NotAllowed(f"this API key lacks the scope {scope!r}")
