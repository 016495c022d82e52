"""The gateway's failures in the shape of Anthropic's API.

The type follows from the status, as that API has it, and two statuses are its own:
529 for an overload, and 402 for a budget that is used up. `code` is our own word for
the failure, the same as in the OpenAI shape.
"""

from __future__ import annotations

from typing import Any

import orjson

from apps.core.errors import InvalidInput
from apps.gateway.errors import QUOTA, ApiFailure

OVERLOADED = 529
TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}
"""`error.type` by status; otherwise by class of status."""
TOO_LONG = "prompt is too long: "
"""Clients look for these words to know that they should shorten a conversation."""


class ThreadUnsupported(InvalidInput):
    """Conversations are not kept here: each request brings the whole of it."""

    code = "thread_unsupported_request"


class AnthropicErrors:
    """The shape of Anthropic's API."""

    request_id_header = b"request-id"

    def status(self, failure: ApiFailure) -> int:
        """Return the status of the answer."""
        if failure.status == 503:
            return OVERLOADED
        # With 429 clients would take it for a rate that waiting mends.
        is_spent = failure.code == QUOTA and failure.is_final
        return 402 if is_spent else failure.status

    def document(self, failure: ApiFailure, request_id: str) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        is_long = failure.code == "context_length_exceeded"
        error: dict[str, Any] = {
            "type": self._type(failure),
            "message": (TOO_LONG if is_long else "") + failure.message,
            "code": failure.code,
        }
        if failure.code == ThreadUnsupported.code:
            # The words after which the `anthropic` packages send all messages instead.
            error["details"] = {"error_code": failure.code, "unsupported": ["thread"]}
        return {"type": "error", "error": error, "request_id": request_id}

    def event(self, failure: ApiFailure, request_id: str) -> bytes:
        """Return the last event of a stream that had begun."""
        data = orjson.dumps(self.document(failure, request_id))
        return b"event: error\ndata: " + data + b"\n\n"

    def _type(self, failure: ApiFailure) -> str:
        status = self.status(failure)
        is_ours = status >= 500
        return TYPES.get(status, "api_error" if is_ours else "invalid_request_error")


ANTHROPIC_ERRORS = AnthropicErrors()
