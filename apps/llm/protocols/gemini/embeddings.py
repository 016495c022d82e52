"""The embeddings method of the Gemini protocol.

It tells no tokens. Source: Gemini API reference v1beta, "models.batchEmbedContents".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.llm.errors import BadResponse
from apps.llm.protocols.embeddings import vector_of
from apps.llm.protocols.gemini.addresses import method_url, model_path
from apps.llm.protocols.json_values import encode, without_nones
from apps.llm.types import Embeddings, Endpoint


class GeminiEmbeddings:
    """See `apps.llm.protocols.embeddings.EmbeddingProtocol`."""

    max_texts = 100

    def embed_url(self, endpoint: Endpoint) -> str:
        """Return the address of the method."""
        return method_url(endpoint, "batchEmbedContents")

    def embed_body(
        self, endpoint: Endpoint, texts: Sequence[str], dimensions: int | None
    ) -> bytes:
        """Return the JSON body: one request for each text."""
        requests = [
            without_nones(
                {
                    "model": model_path(endpoint.model),
                    "content": {"parts": [{"text": text}]},
                    "outputDimensionality": dimensions,
                }
            )
            for text in texts
        ]
        return encode({**(endpoint.extra_body or {}), "requests": requests})

    def read_embeddings(self, endpoint: Endpoint, document: Any) -> Embeddings:
        """Return what an answer holds. Raises: BadResponse."""
        rows = document.get("embeddings") if isinstance(document, dict) else None
        if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
            raise BadResponse(f"{endpoint.name!r}: not a list of embeddings")
        vectors = tuple(vector_of(endpoint, row.get("values")) for row in rows)
        return Embeddings(vectors, endpoint.model, None)
