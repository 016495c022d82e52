"""Who is asking, and whether their key may do what they ask."""

from __future__ import annotations

from apps.accounts.models import Scope
from apps.accounts.types import KeyHolder
from apps.budgets.rates import TokenMeter, admit_on_loop, is_limited
from apps.core.errors import NotAllowed, NotAuthenticated
from apps.engine.usage import estimate_tokens
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


async def pass_rates(
    exchange: Exchange, holder: KeyHolder, prompt: str = ""
) -> TokenMeter | None:
    """Count a request against the rates of its key and team; the answer says them.

    Return what counts the run's tokens later, if anything does. Raises: RateLimited.
    """
    if not is_limited(holder):
        return None
    tokens = estimate_tokens(prompt) if prompt else 0
    admission = await admit_on_loop(holder, prompt_tokens=tokens)
    exchange.extra_headers = [
        (name.encode(), value.encode()) for name, value in admission.headers
    ]
    admission.require()
    return admission.meter
