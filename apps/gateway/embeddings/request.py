"""Reads the body of a request for embeddings: strict about what we use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.ports import CallParams, Message
from apps.gateway.chat_completions.request import read_model
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.parsing.json_fields import read_integer, type_error
from apps.gateway.parsing.messages import check_text
from apps.gateway.parsing.params import ignored_names
from apps.gateway.run_starter import ChatTask
from apps.runs.types import VectorSink

USED_FIELDS = frozenset({"dimensions", "encoding_format", "input", "model"})
FORMATS = ("float", "base64")
MAX_TEXTS = 2048
MAX_DIMENSIONS = 100_000
SEPARATOR = "\n\n"
"""The separator of inputs where the record shows them as one prompt."""


@dataclass(frozen=True, slots=True)
class EmbeddingsRequest:
    """A request for embeddings, checked."""

    asked: ChatTask
    vectors: VectorSink
    """Where its vectors will be."""
    is_base64: bool
    """True: vectors are sent as base64 instead of numbers."""


def parse_embeddings(raw: bytes, *, max_prompt_bytes: int) -> EmbeddingsRequest:
    """Return the request in `raw`. Raises: InvalidInput naming the field at fault."""
    body = parse_object(raw)
    texts = _read_texts(body)
    prompt = SEPARATOR.join(texts)
    check_text(prompt, max_prompt_bytes, "input")
    dimensions = read_integer(body, "dimensions", 1, MAX_DIMENSIONS)
    encoding = body.get("encoding_format") or FORMATS[0]
    if encoding not in FORMATS:
        raise InvalidInput(
            f"encoding_format: expected one of {', '.join(FORMATS)}",
            param="encoding_format",
        )
    sink = VectorSink()
    extra = None if dimensions is None else {"dimensions": dimensions}
    asked = ChatTask(
        model=read_model(body),
        prompt=prompt,
        prompt_field="input",
        messages=() if len(texts) == 1 else tuple(map(_message, texts)),
        params=CallParams(extra=extra),
        ignored=ignored_names(body, USED_FIELDS),
        vectors=sink,
    )
    return EmbeddingsRequest(asked, sink, is_base64=encoding == "base64")


def _message(text: str) -> Message:
    return {"role": "user", "content": text}


def _read_texts(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise type_error("input", "a string or a list of strings", given)
    if len(texts) > MAX_TEXTS:
        raise InvalidInput(
            f"input: {len(texts)} texts, at most {MAX_TEXTS} are allowed", param="input"
        )
    for index, text in enumerate(texts):
        if isinstance(text, int | list):
            raise InvalidInput(
                "input: token ids are not supported, because workers differ in their "
                "tokens; send strings",
                param="input",
            )
        if not isinstance(text, str) or not text.strip():
            raise type_error(f"input[{index}]", "a text that is not blank", text or "")
    return texts
