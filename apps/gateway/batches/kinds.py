"""The endpoints that requests of a batch may name, and how each reads and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from django.conf import settings

from apps.accounts.principal import KeyPrincipal
from apps.engine.events import RunCompleted
from apps.gateway.backend import Backend
from apps.gateway.chat_completions.documents import completion_document
from apps.gateway.chat_completions.request import read_chat_request
from apps.gateway.presets import CHAT, RESPONSE, TEXT, filled_body
from apps.gateway.responses.documents import ended_document
from apps.gateway.responses.endpoints import origin_of_record
from apps.gateway.responses.previous_response import History
from apps.gateway.responses.request import read_request
from apps.gateway.run_starter import ChatTask
from apps.gateway.text_completions.documents import text_completion_document
from apps.gateway.text_completions.request import read_text_completion
from apps.runs.types import RunRecord, RunSummary


class RequestKind(Protocol):
    """Requests to one endpoint."""

    question: str
    """Field that holds the conversation, for failures that are about it."""

    async def read(
        self, backend: Backend, principal: KeyPrincipal, sent: Mapping[str, Any]
    ) -> ChatTask:
        """Return what a body asks for. Raises: InvalidInput, NotFound, Conflict."""
        ...

    def document(
        self, record: RunRecord, summary: RunSummary, end: RunCompleted
    ) -> dict[str, Any]:
        """Return the body of the answer of a run that completed."""
        ...


class ChatRequests:
    """Requests to `/v1/chat/completions`."""

    question = "messages"

    async def read(
        self, backend: Backend, principal: KeyPrincipal, sent: Mapping[str, Any]
    ) -> ChatTask:
        """See `RequestKind`."""
        filled = await filled_body(sent, CHAT, principal, backend)
        limit = settings.MAX_PROMPT_BYTES
        return read_chat_request(filled, max_prompt_bytes=limit).asked

    def document(
        self, record: RunRecord, summary: RunSummary, end: RunCompleted
    ) -> dict[str, Any]:
        """See `RequestKind`."""
        return completion_document(summary, end, model=record.model)


class TextRequests:
    """Requests to `/v1/completions`."""

    question = "prompt"

    async def read(
        self, backend: Backend, principal: KeyPrincipal, sent: Mapping[str, Any]
    ) -> ChatTask:
        """See `RequestKind`."""
        filled = await filled_body(sent, TEXT, principal, backend)
        limit = settings.MAX_PROMPT_BYTES
        return read_text_completion(filled, max_prompt_bytes=limit).asked

    def document(
        self, record: RunRecord, summary: RunSummary, end: RunCompleted
    ) -> dict[str, Any]:
        """See `RequestKind`."""
        return text_completion_document(summary, end, model=record.model)


class ResponseRequests:
    """Requests to `/v1/responses`."""

    question = "input"

    async def read(
        self, backend: Backend, principal: KeyPrincipal, sent: Mapping[str, Any]
    ) -> ChatTask:
        """See `RequestKind`."""
        filled = await filled_body(sent, RESPONSE, principal, backend)
        request = read_request(filled)
        messages = await History(backend).conversation(principal.key, request)
        return request.asked(messages, max_bytes=settings.MAX_PROMPT_BYTES)

    def document(
        self, record: RunRecord, summary: RunSummary, end: RunCompleted
    ) -> dict[str, Any]:
        """See `RequestKind`."""
        return ended_document(origin_of_record(record), summary)


KINDS: Mapping[str, RequestKind] = {
    "/v1/chat/completions": ChatRequests(),
    "/v1/completions": TextRequests(),
    "/v1/responses": ResponseRequests(),
}
"""By the path that a request names."""
