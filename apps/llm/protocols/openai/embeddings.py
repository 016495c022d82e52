"""The embeddings method of the OpenAI-compatible protocol.

Source: OpenAI API reference, "Create embeddings".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.llm.errors import BadResponse
from apps.llm.protocols.embeddings import vector_of
from apps.llm.protocols.json_values import encode, without_nones
from apps.llm.types import Embeddings, Endpoint, TokenUsage


class OpenAiEmbeddings:
    """See `apps.llm.protocols.embeddings.EmbeddingProtocol`."""

    max_texts = 2048

    def embed_url(self, endpoint: Endpoint) -> str:
        """Return the address of the method."""
        return endpoint.base_url.rstrip("/") + "/embeddings"

    def embed_body(
        self, endpoint: Endpoint, texts: Sequence[str], dimensions: int | None
    ) -> bytes:
        """Return the JSON body; vectors are asked for as base64, which is short."""
        fields = {
            "model": endpoint.model,
            "input": list(texts),
            "dimensions": dimensions,
            "encoding_format": "base64",
        }
        return encode({**(endpoint.extra_body or {}), **without_nones(fields)})

    def read_embeddings(self, endpoint: Endpoint, document: Any) -> Embeddings:
        """Return what an answer holds. Raises: BadResponse."""
        rows = document.get("data") if isinstance(document, dict) else None
        if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
            raise BadResponse(f"{endpoint.name!r}: not a list of embeddings")
        # Rows may come in any order; a server that numbers none sends them in order.
        ordered = sorted(enumerate(rows), key=lambda pair: _index(*pair))
        vectors = tuple(vector_of(endpoint, row.get("embedding")) for _, row in ordered)
        model = document.get("model")
        return Embeddings(
            vectors, model if isinstance(model, str) else "", _usage(document)
        )


def _index(place: int, row: dict[str, Any]) -> int:
    index = row.get("index")
    return index if type(index) is int else place


def _usage(document: dict[str, Any]) -> TokenUsage | None:
    usage = document.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return TokenUsage(tokens, 0) if type(tokens) is int and tokens >= 0 else None
