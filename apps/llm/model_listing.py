"""Asks a provider which models it serves, by the models method of its protocol."""

from __future__ import annotations

from typing import Any

from apps.llm.bounds import Unreadable, load_json
from apps.llm.errors import BadResponse
from apps.llm.http import Get, HttpTransport
from apps.llm.http_common import expect_success, request_headers
from apps.llm.protocols.registry import protocol_of
from apps.llm.service_accounts import authorised
from apps.llm.types import Endpoint

MAX_LISTING_BYTES = 8_000_000
"""Routers describe hundreds of models at length."""
MAX_VALUES = 250_000
"""A hundred for each model, and then some."""
MAX_MODELS = 2_000
MAX_NAME_LENGTH = 200


async def list_models(transport: HttpTransport, endpoint: Endpoint) -> list[str]:
    """Return the names of an endpoint's models, sorted. Raises: LlmError.

    `endpoint.model` plays no part. Names that could not be used are left out.
    """
    endpoint = await authorised(transport, endpoint)
    get = Get(
        name=endpoint.name,
        url=protocol_of(endpoint).models_url(endpoint),
        headers=request_headers(endpoint, accept="application/json"),
        timeouts=endpoint.timeouts,
    )
    async with await transport.get(get) as reply:
        await expect_success(endpoint, reply)
        body = await reply.read_body(MAX_LISTING_BYTES)
    return sorted(set(_names(endpoint, body)))[:MAX_MODELS]


def _names(endpoint: Endpoint, body: bytes) -> list[str]:
    try:
        listing = load_json(body, MAX_VALUES)
    except Unreadable as exc:
        raise BadResponse(f"{endpoint.name!r}: {exc}") from None
    names = protocol_of(endpoint).model_names(listing)
    if names is None:
        raise BadResponse(f"{endpoint.name!r}: not a list of models")
    return [name for name in names if _is_usable(name)]


def _is_usable(name: Any) -> bool:
    return (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME_LENGTH
        and name.isprintable()
    )
