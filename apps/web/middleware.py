"""Turns the product's errors into answers for browsers, in one place."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from apps.core.errors import ConductorError

TEMPLATES = {400: "400.html", 403: "403.html", 404: "404.html"}


class DomainErrorMiddleware:
    """Answers a ConductorError raised by a view as a page, or as JSON if asked for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Translate a ConductorError; leave every other exception to Django."""
        if not isinstance(exception, ConductorError):
            return None
        response = _answer(request, exception)
        if exception.retry_after_s is not None:
            response["Retry-After"] = str(exception.retry_after_s)
        return response


def wants_json(request: HttpRequest) -> bool:
    """Say whether the client prefers JSON to a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == (
        "application/json"
    )


def _answer(request: HttpRequest, error: ConductorError) -> HttpResponse:
    if wants_json(request):
        body = {"message": error.message, "code": error.code, "param": error.param}
        return JsonResponse({"error": body}, status=error.http_status)
    template = TEMPLATES.get(error.http_status, "web/error.html")
    context = {"message": error.message, "code": error.http_status}
    return render(request, template, context, status=error.http_status)
