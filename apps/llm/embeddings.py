"""Asks one model to turn texts into vectors, by the protocol of its endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from apps.llm.bounds import Unreadable, load_json
from apps.llm.errors import BadRequest, BadResponse
from apps.llm.http import HttpTransport, Post
from apps.llm.http_common import expect_success, request_headers
from apps.llm.protocols.embeddings import EmbeddingProtocol
from apps.llm.protocols.gemini.embeddings import GeminiEmbeddings
from apps.llm.protocols.openai.embeddings import OpenAiEmbeddings
from apps.llm.service_accounts import authorised
from apps.llm.types import (
    EmbeddingRequest,
    Embeddings,
    Endpoint,
    Protocol,
    TokenUsage,
)

MAX_BYTES = 64_000_000
"""Of one answer: 2,048 vectors of 4,096 numbers as base64 have 45 MB."""
MAX_VALUES = 4_000_000
"""Numbers of one answer that brings them as JSON, which costs by the value."""
PROTOCOLS: Mapping[Protocol, EmbeddingProtocol] = {
    "openai": OpenAiEmbeddings(),
    "gemini": GeminiEmbeddings(),
}
"""Those that have an embeddings method."""


async def embed(
    transport: HttpTransport, endpoint: Endpoint, request: EmbeddingRequest
) -> Embeddings:
    """Return the vectors of all texts. Raises: LlmError.

    Input beyond the protocol's limit is sent in several requests, one after the other.
    """
    protocol = PROTOCOLS.get(endpoint.protocol)
    if protocol is None:
        raise BadRequest(
            f"{endpoint.name!r}: the protocol {endpoint.protocol!r} has no embeddings"
        )
    endpoint = await authorised(transport, endpoint)
    parts = []
    for start in range(0, len(request.texts), protocol.max_texts):
        texts = request.texts[start : start + protocol.max_texts]
        part = await _ask(transport, endpoint, protocol, texts, request.dimensions)
        parts.append(part)
    vectors = tuple(vector for part in parts for vector in part.vectors)
    if len({len(vector) for vector in vectors}) > 1:
        raise BadResponse(f"{endpoint.name!r}: embeddings of different lengths")
    return Embeddings(vectors, parts[0].model, _total([part.usage for part in parts]))


async def _ask(
    transport: HttpTransport,
    endpoint: Endpoint,
    protocol: EmbeddingProtocol,
    texts: Sequence[str],
    dimensions: int | None,
) -> Embeddings:
    post = Post(
        name=endpoint.name,
        url=protocol.embed_url(endpoint),
        headers=(
            ("content-type", "application/json"),
            *request_headers(endpoint, accept="application/json"),
        ),
        body=protocol.embed_body(endpoint, texts, dimensions),
        timeouts=endpoint.timeouts,
    )
    async with await transport.post(post) as reply:
        await expect_success(endpoint, reply)
        body = await reply.read_body(MAX_BYTES)
    # In a thread: megabytes of numbers take longer than others may wait.
    found = await asyncio.to_thread(_read, endpoint, protocol, body)
    if len(found.vectors) != len(texts):
        raise BadResponse(
            f"{endpoint.name!r}: {len(found.vectors)} embeddings of {len(texts)} texts"
        )
    return found


def _read(endpoint: Endpoint, protocol: EmbeddingProtocol, body: bytes) -> Embeddings:
    try:
        document = load_json(body, MAX_VALUES)
    except Unreadable as exc:
        raise BadResponse(f"{endpoint.name!r}: {exc}") from None
    return protocol.read_embeddings(endpoint, document)


def _total(usages: Sequence[TokenUsage | None]) -> TokenUsage | None:
    known = [usage for usage in usages if usage is not None]
    if len(known) < len(usages):
        return None
    return TokenUsage(sum(usage.prompt_tokens for usage in known), 0)
