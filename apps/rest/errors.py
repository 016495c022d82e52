"""The one translation of errors into answers of the REST API.

Every error has the same body: `code` for programs, `message` for people, `param` for
the field at fault, and `fields` with all messages by field if there are any.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.db import Error as DatabaseFault
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions
from rest_framework.response import Response

from apps.core.database_outage import database_away, is_outage
from apps.core.errors import (
    ConductorError,
    InvalidFields,
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    NotFound,
)
from apps.web.request_context import REQUEST_ID
from apps.web.waiting import Suspended

logger = logging.getLogger(__name__)
RETRY_AFTER_S = 2
"""Sent with 503 when the error names no time. A 429 without one: waiting is no help."""
WHOLE_BODY = "non_field_errors"
"""What the framework calls the body itself."""


class NotSignedIn(NotAuthenticated):
    """Neither a key nor a session came with the request."""

    code = "not_authenticated"


class CsrfFailed(NotAllowed):
    """A session's request without proof that it comes from our own pages."""

    code = "csrf_failed"


class UnsupportedMediaType(InvalidInput):
    """The request body is declared to be something other than JSON."""

    code = "unsupported_media_type"
    http_status = 415


class PreconditionRequired(InvalidInput):
    """A change must say which version it is of."""

    code = "precondition_required"
    http_status = 428


class _MethodNotAllowed(InvalidInput):
    code = "method_not_allowed"
    http_status = 405


@dataclass(frozen=True, slots=True)
class RestFailure:
    """An error as a caller will see it."""

    status: int
    code: str
    message: str
    param: str | None = None
    fields: Mapping[str, list[str]] | None = None
    retry_after_s: int | None = None

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        error: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "param": self.param,
        }
        if self.fields is not None:
            error["fields"] = dict(self.fields)
        return {"error": error}

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to this failure alone."""
        headers = {}
        if self.status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="conductor"'
        wait_s = self.retry_after_s
        if wait_s is None and self.status == 503:
            wait_s = RETRY_AFTER_S
        if wait_s is not None:
            headers["Retry-After"] = str(wait_s)
        return headers


INTERNAL_FAILURE = RestFailure(
    500, "internal_error", "the server failed; the request id leads to the reason"
)


def answer_failure(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Answer an exception that left a view. One that was not meant is logged.

    A view that waits has no answer yet: None leaves it to the middleware.
    """
    if isinstance(exc, Suspended):
        return None
    failure = _failure_of(exc)
    if failure is INTERNAL_FAILURE:
        request_id = context["request"].META[REQUEST_ID]
        logger.error("request %s failed", request_id, exc_info=exc)
    return Response(failure.body(), status=failure.status, headers=failure.headers())


def fields_of_detail(detail: Any) -> dict[str, list[str]]:
    """Return the framework's nested messages flat: `timeouts.idle_s`, `tags[2]`."""
    fields: dict[str, list[str]] = {}
    for path, message in _leaves(detail, ""):
        fields.setdefault(path, []).append(message)
    return fields


def _failure_of(exc: Exception) -> RestFailure:
    error = _own_error(exc)
    if error is None:
        return INTERNAL_FAILURE
    return RestFailure(
        status=error.http_status,
        code=error.code,
        message=error.message,
        param=error.param,
        fields=error.fields if isinstance(error, InvalidFields) else None,
        retry_after_s=error.retry_after_s,
    )


def _own_error(exc: Exception) -> ConductorError | None:
    """Return the product's word for an exception; None if it was never expected."""
    match exc:
        case ConductorError():
            return exc
        case exceptions.ValidationError():
            return InvalidFields(fields_of_detail(exc.detail))
        case exceptions.MethodNotAllowed():
            return _MethodNotAllowed(str(exc.detail))
        case exceptions.NotFound() | Http404():
            return NotFound("there is no such thing")
        case exceptions.PermissionDenied() | PermissionDenied():
            return NotAllowed("you may not do this")
        case exceptions.APIException() if exc.status_code < 500:
            return InvalidInput(str(exc.detail))
        case SuspiciousOperation() | BadRequest() | MultiPartParserError():
            return InvalidInput("the request is not well formed")
        case DatabaseFault() if is_outage(exc):
            return database_away()
    return None


def _leaves(detail: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(detail, Mapping):
        for name, part in detail.items():
            yield from _leaves(part, _joined(path, name))
    elif isinstance(detail, list) and any(isinstance(p, Mapping) for p in detail):
        for index, part in enumerate(detail):
            yield from _leaves(part, f"{path}[{index}]")
    elif isinstance(detail, list):
        for part in detail:
            yield from _leaves(part, path)
    else:
        yield path or "body", str(detail)


def _joined(path: str, name: str | int) -> str:
    if isinstance(name, int):
        return f"{path}[{name}]"
    if name == WHOLE_BODY:
        return path
    return f"{path}.{name}" if path else name
