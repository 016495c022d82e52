"""The interface of a wire protocol for embeddings; reads vectors from JSON."""

from __future__ import annotations

import base64
import binascii
import math
from array import array
from collections.abc import Sequence
from typing import Any, Protocol

from apps.llm.errors import BadResponse
from apps.llm.types import FLOAT_BYTES, Embeddings, Endpoint


class EmbeddingProtocol(Protocol):
    """The embeddings method of one protocol."""

    max_texts: int
    """The most texts in one request."""

    def embed_url(self, endpoint: Endpoint) -> str:
        """Return the address of the method."""
        ...

    def embed_body(
        self, endpoint: Endpoint, texts: Sequence[str], dimensions: int | None
    ) -> bytes:
        """Return the JSON body of a request."""
        ...

    def read_embeddings(self, endpoint: Endpoint, document: Any) -> Embeddings:
        """Return what an answer holds. Raises: BadResponse."""
        ...


def vector_of(endpoint: Endpoint, value: Any) -> bytes:
    """Return a vector, given as a list of numbers or as base64. Raises: BadResponse."""
    if isinstance(value, str):
        return _decoded(endpoint, value)
    try:
        numbers = array("f", value)
    except (TypeError, OverflowError):
        raise _unreadable(endpoint) from None
    return _checked(endpoint, numbers)


def _decoded(endpoint: Endpoint, text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _unreadable(endpoint) from None
    if len(raw) % FLOAT_BYTES:
        raise _unreadable(endpoint)
    return _checked(endpoint, array("f", raw))


def _checked(endpoint: Endpoint, numbers: array[float]) -> bytes:
    if not numbers or not math.isfinite(math.fsum(map(abs, numbers))):
        raise _unreadable(endpoint)
    return numbers.tobytes()


def _unreadable(endpoint: Endpoint) -> BadResponse:
    return BadResponse(f"{endpoint.name!r}: an embedding is no list of numbers")
