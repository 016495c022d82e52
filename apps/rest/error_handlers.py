"""Answers for requests that never reach a view: the API's own, else Django's pages.

A bad `Host` header, for one, is refused before any address is looked up.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

from apps.rest.errors import INTERNAL_FAILURE, RestFailure

ROOT = "/api/"
BAD_REQUEST = RestFailure(
    400, "invalid_request_error", "the request is not well formed"
)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that is not well formed."""
    if request.path.startswith(ROOT):
        return _as_json(BAD_REQUEST)
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a request at which the server failed; Django has logged how."""
    if request.path.startswith(ROOT):
        return _as_json(INTERNAL_FAILURE)
    return defaults.server_error(request)


def _as_json(failure: RestFailure) -> JsonResponse:
    return JsonResponse(failure.body(), status=failure.status)
