"""The shape of errors, by the protocol of the request."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from apps.gateway.errors import ApiFailure


class ErrorShape(Protocol):
    """One protocol's words for failures."""

    request_id_header: bytes
    """Carries the request id beside `x-request-id`; empty: nothing does."""

    def status(self, failure: ApiFailure) -> int:
        """Return the status of the answer."""
        ...

    def document(self, failure: ApiFailure, request_id: str) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        ...

    def event(self, failure: ApiFailure, request_id: str) -> bytes:
        """Return the last event of a stream that had begun."""
        ...


class OpenAiErrors:
    """The shape of OpenAI's API."""

    request_id_header = b""

    def status(self, failure: ApiFailure) -> int:
        """Return the status of the answer."""
        return failure.status

    def document(self, failure: ApiFailure, request_id: str) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        return failure.body()

    def event(self, failure: ApiFailure, request_id: str) -> bytes:
        """Return the last event of a stream that had begun."""
        return b"data: " + orjson.dumps(failure.body()) + b"\n\n"


OPENAI_ERRORS = OpenAiErrors()
