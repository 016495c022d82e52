"""Who is asking, and whether their key may do what they ask."""

from __future__ import annotations

from apps.accounts.errors import UnknownKey
from apps.accounts.models import Scope
from apps.accounts.services import unknown_key_note
from apps.accounts.types import KeyHolder
from apps.budgets.rate_limits import Admission, TokenMeter, admit_on_loop, is_limited
from apps.core.errors import NotAllowed, NotAuthenticated
from apps.core.requesters import tell_team
from apps.engine.usage import estimate_tokens
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange

RUN_SCOPE = Scope.RUN.value
DIRECT_SCOPE = Scope.DIRECT.value
"""Needed on top to call one worker without a plan."""
BEARER = b"bearer "
OURS = BEARER + b"cdk_"
"""How an Authorization header with a key of ours begins, in lower case."""
MAX_KEY_BYTES = 200
"""Longer than any key; nothing longer is looked up."""


async def authenticate(exchange: Exchange, backend: Backend) -> KeyHolder:
    """Return the holder of the request's API key.

    Raises: NotAuthenticated, TooManyGuesses.
    """
    raw = _sent_key(exchange)
    if not 0 < len(raw) <= MAX_KEY_BYTES:
        raise NotAuthenticated("the request's header holds no API key")
    try:
        holder = await backend.authenticate(raw.decode("latin-1"))
    except UnknownKey:
        unknown_key_note((exchange.scope.get("client") or ("",))[0])
        raise
    tell_team(exchange.scope, holder.team_id)
    return holder


def _sent_key(exchange: Exchange) -> bytes:
    """Return the key as it was sent, a bearer token or `x-api-key`.

    Clients of Anthropic's protocol send both if their environment holds a key of
    another service as well. Raises: NotAuthenticated.
    """
    header = exchange.headers.get(b"authorization", b"")
    own = exchange.headers.get(b"x-api-key", b"").strip()
    if own and header[: len(OURS)].lower() != OURS:
        return own
    if not header:
        raise NotAuthenticated(
            "no API key; send the header 'Authorization: Bearer …' or 'x-api-key: …'"
        )
    if header[: len(BEARER)].lower() != BEARER:
        raise NotAuthenticated("the Authorization header holds no bearer key")
    return header[len(BEARER) :].strip()


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
    admission = await admit(holder, prompt)
    exchange.extra_headers += [
        (name.encode(), value.encode()) for name, value in admission.headers
    ]
    admission.require()
    return admission.meter


async def admit(holder: KeyHolder, prompt: str = "") -> Admission:
    """Count a request against the rates of its key and team; return what they say."""
    tokens = estimate_tokens(prompt) if prompt and is_limited(holder) else 0
    return await admit_on_loop(holder, prompt_tokens=tokens)
