"""Starts a run that makes embeddings, and answers with its vectors.

The run's record holds the input and a digest of the vectors, not the vectors: they can
be made again, and would be many times as long.
"""

from __future__ import annotations

import base64
from array import array
from functools import partial
from typing import Any

from django.conf import settings

from apps.accounts.rights import RUN
from apps.core.errors import InvalidInput
from apps.engine.events import RunCompleted
from apps.gateway.auth import authenticate
from apps.gateway.backend import Backend
from apps.gateway.chat_completions.documents import conductor_document
from apps.gateway.embeddings.request import EmbeddingsRequest, parse_embeddings
from apps.gateway.errors import ClientGone
from apps.gateway.exchange import Exchange
from apps.gateway.idempotency import HEADER, idempotency_key
from apps.gateway.run_starter import RunStarter
from apps.gateway.whole import answer_whole
from apps.runs.types import RunSummary


class Embedding:
    """`POST /v1/embeddings`."""

    def __init__(self, backend: Backend, starter: RunStarter) -> None:
        self._backend = backend
        self._starter = starter

    async def post(self, exchange: Exchange) -> None:
        """Answer with one vector for each text."""
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        if idempotency_key(exchange) is not None:
            raise InvalidInput(
                f"{HEADER}: not supported here, because vectors are not kept; the same "
                "text has the same vector, so ask again without it",
                param=HEADER,
            )
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        limit = settings.MAX_PROMPT_BYTES
        request = parse_embeddings(raw, max_prompt_bytes=limit)
        started = await self._starter.start(exchange, principal, request.asked, raw)
        try:
            document = partial(embeddings_document, request)
            await answer_whole(
                exchange, started, document, question="input", is_large=True
            )
        except ClientGone:
            started.leave()
            raise


def embeddings_document(
    request: EmbeddingsRequest, summary: RunSummary, end: RunCompleted
) -> dict[str, Any]:
    """Return the vectors of a run that has completed."""
    tokens = end.usage.prompt_tokens
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": _told(vector, is_base64=request.is_base64),
            }
            for index, vector in enumerate(request.vectors.vectors)
        ],
        "model": request.asked.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "conductor": conductor_document(summary),
    }


def _told(vector: bytes, *, is_base64: bool) -> str | list[float]:
    if is_base64:
        return base64.b64encode(vector).decode()
    return array("f", vector).tolist()
