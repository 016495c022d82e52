"""Simulated embeddings: texts that share words have similar vectors.

Each word adds a direction of its own, derived from its digest. So the same text always
has the same vector, on any machine.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections.abc import Sequence
from typing import Any

import orjson

from apps.simulator.request import InvalidRequest

MODEL = "sim-embedding"
DIMENSIONS = 64
MAX_DIMENSIONS = 3072
MAX_TEXTS = 2048
WORD = re.compile(r"\w+")


def openai_answer(body: bytes) -> dict[str, Any]:
    """Answer a request to `/v1/embeddings`. Raises: BadRequest."""
    asked = _read(body)
    texts = asked.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    dimensions = asked.get("dimensions") or DIMENSIONS
    vectors = _vectors(texts, dimensions, "input")
    is_short = asked.get("encoding_format") == "base64"
    tokens = sum(len(WORD.findall(text)) for text in texts or ())
    return {
        "object": "list",
        "model": MODEL,
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": _base64(vector) if is_short else vector,
            }
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def gemini_answer(body: bytes) -> dict[str, Any]:
    """Answer a request to `:batchEmbedContents`. Raises: BadRequest."""
    requests = _read(body).get("requests")
    if not isinstance(requests, list):
        raise InvalidRequest("requests must be a list", "requests")
    texts = [
        "".join(part.get("text", "") for part in each.get("content", {})["parts"])
        for each in requests
    ]
    wanted = {each.get("outputDimensionality") or DIMENSIONS for each in requests}
    vectors = _vectors(texts, max(wanted, default=DIMENSIONS), "requests")
    return {"embeddings": [{"values": vector} for vector in vectors]}


def _read(body: bytes) -> dict[str, Any]:
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidRequest("the body is not JSON") from None
    if not isinstance(asked, dict):
        raise InvalidRequest("the body is no object")
    return asked


def _vectors(texts: Any, dimensions: Any, name: str) -> list[list[float]]:
    if not isinstance(texts, list) or not 0 < len(texts) <= MAX_TEXTS:
        raise InvalidRequest(f"{name} must hold 1 to {MAX_TEXTS} texts", name)
    if not all(isinstance(text, str) and text for text in texts):
        raise InvalidRequest(f"{name} must hold texts that are not empty", name)
    if type(dimensions) is not int or not 0 < dimensions <= MAX_DIMENSIONS:
        raise InvalidRequest(f"dimensions must be 1 to {MAX_DIMENSIONS}", "dimensions")
    return [text_vector(text, dimensions) for text in texts]


def text_vector(text: str, dimensions: int) -> list[float]:
    """Return the sum of the directions of the words in `text`, of length 1."""
    sums = [0.0] * dimensions
    for word in WORD.findall(text.lower()) or [text]:
        for place, sign in _direction(word, dimensions):
            sums[place] += sign
    length = math.sqrt(sum(value * value for value in sums)) or 1.0
    return [value / length for value in sums]


def _direction(word: str, dimensions: int) -> list[tuple[int, float]]:
    digest = hashlib.blake2b(word.encode(), digest_size=32).digest()
    numbers = struct.unpack("<16H", digest)
    return [(n % dimensions, 1.0 if n & 0x8000 else -1.0) for n in numbers]


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
