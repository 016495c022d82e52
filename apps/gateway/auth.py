"""Authenticates requests by API key, and counts them against the key's rates."""

from __future__ import annotations

from apps.accounts.errors import UnknownKey
from apps.accounts.principal import KeyPrincipal, key_principal
from apps.accounts.services import unknown_key_note
from apps.budgets.rate_limits import Admission, admit_on_loop
from apps.core.errors import NotAuthenticated
from apps.core.requesters import set_team
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange

BEARER = b"bearer "
OURS = BEARER + b"cdk_"
"""How an Authorization header with a key of ours begins, in lower case."""
MAX_KEY_BYTES = 200
"""Longer than any key; nothing longer is looked up."""


async def authenticate(exchange: Exchange, backend: Backend) -> KeyPrincipal:
    """Return the API key that the request was sent with.

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
    set_team(exchange.scope, holder.team_id)
    return key_principal(holder, exchange.context)


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


async def pass_rates(exchange: Exchange, principal: KeyPrincipal) -> None:
    """Count a request that starts no run against the rates. Raises: RateLimited."""
    require_admitted(exchange, await admit_on_loop(principal.key))


def require_admitted(exchange: Exchange, admission: Admission) -> None:
    """Put what the rates say into the answer's headers. Raises: RateLimited."""
    exchange.extra_headers += [
        (name.encode(), value.encode()) for name, value in admission.headers
    ]
    admission.require()
