"""Headers of all requests to providers, and the check of the reply's status."""

from __future__ import annotations

import time

from apps.llm.bounds import MAX_REFUSAL_BYTES
from apps.llm.error_classification import refusal
from apps.llm.errors import BadRequest, Unauthorized, UnusableResponse
from apps.llm.http import HeaderPairs, HttpReply
from apps.llm.protocols.registry import protocol_of
from apps.llm.types import Endpoint

USER_AGENT = "conductor/0.1.0"


def request_headers(endpoint: Endpoint, *, accept: str) -> HeaderPairs:
    """Return the headers of a request, with the key if there is one.

    Raises: Unauthorized or BadRequest if a value does not fit into a header.
    """
    headers: HeaderPairs = (
        ("accept", accept),
        ("accept-encoding", "identity"),
        ("user-agent", USER_AGENT),
    )
    if endpoint.api_key and not _fits_header(endpoint.api_key):
        raise Unauthorized(f"{endpoint.name!r}: the key has impossible characters")
    headers += protocol_of(endpoint).headers(endpoint)
    if not all(map(_fits_header, sum(endpoint.extra_headers, ()))):
        raise BadRequest(f"{endpoint.name!r}: a header has impossible characters")
    return headers + endpoint.extra_headers


async def expect_success(endpoint: Endpoint, reply: HttpReply) -> None:
    """Return if the answer is a plain 200. Raises: LlmError saying what it is."""
    if reply.status != 200:
        body = await reply.read_some(MAX_REFUSAL_BYTES)
        raise refusal(endpoint, reply.status, reply.headers, body, now_s=time.time())
    if reply.headers.get("content-encoding", "identity") != "identity":
        raise UnusableResponse(
            f"{endpoint.name!r}: compressed, which was not asked for"
        )


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable()
