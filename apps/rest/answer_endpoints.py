"""What is under `/v1`, for the page of the reference; a test compares the gateway."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_noop as _


@dataclass(frozen=True, slots=True)
class AnswerEndpoints:
    """Requests that belong together."""

    requests: Sequence[str]
    """Method and path of each."""
    words: str
    doc: str
    """The page of the documentation about them."""
    doc_title: str


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request to begin with on the page of the reference."""

    request: str
    """Method and path."""
    body: str = ""
    """JSON; empty for requests without a body."""


def _sample(path: str, **body: object) -> SampleRequest:
    return SampleRequest(f"POST /v1/{path}", json.dumps(body, indent=2))


_QUESTION = "What is 17 * 23 + 4?"
_MESSAGES = [{"role": "user", "content": _QUESTION}]
SAMPLE_REQUESTS = (
    _sample(
        "chat/completions", model="conductor-ultra", messages=_MESSAGES, stream=True
    ),
    _sample("responses", model="conductor-ultra", input=_QUESTION),
    _sample("messages", model="conductor-ultra", max_tokens=1024, messages=_MESSAGES),
    _sample("completions", model="conductor-mini", prompt=_QUESTION),
    SampleRequest("GET /v1/models"),
)
ANSWER_ENDPOINTS = (
    AnswerEndpoints(
        ("POST /v1/chat/completions",),
        _("Answers a conversation, whole or streamed."),
        "api",
        _("Chat completions"),
    ),
    AnswerEndpoints(
        ("POST /v1/completions",), _("Answers a text."), "api", _("Text completions")
    ),
    AnswerEndpoints(
        (
            "POST /v1/responses",
            "POST /v1/responses/compact",
            "POST /v1/responses/input_tokens",
            "GET /v1/responses/{response_id}",
            "POST /v1/responses/{response_id}/cancel",
            "GET /v1/responses/{response_id}/input_items",
        ),
        _("Answers as OpenAI's Responses API, also in the background."),
        "responses",
        _("Responses"),
    ),
    AnswerEndpoints(
        ("POST /v1/messages", "POST /v1/messages/count_tokens"),
        _("Answers as Anthropic's Messages API."),
        "messages",
        _("Messages"),
    ),
    AnswerEndpoints(
        ("POST /v1/embeddings",),
        _("Turns texts into vectors."),
        "embeddings",
        _("Embeddings"),
    ),
    AnswerEndpoints(
        (
            "POST /v1/batches",
            "GET /v1/batches/{batch_id}",
            "POST /v1/batches/{batch_id}/cancel",
            "POST /v1/files",
            "GET /v1/files/{file_id}",
            "GET /v1/files/{file_id}/content",
        ),
        _("Many requests from one file, in the background."),
        "batches",
        _("Files and batches"),
    ),
    AnswerEndpoints(
        ("GET /v1/models", "GET /v1/models/{model_id}"),
        _("The models that a key may use."),
        "api",
        _("Models"),
    ),
)
