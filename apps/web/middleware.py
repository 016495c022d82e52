"""Middleware of all pages.

The product's errors become answers for browsers, in one place; a second factor is
asked for where the site requires one; pages stay out of shared caches; the admin gets
its own content policy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from apps.core.database_outage import database_away, is_outage
from apps.core.errors import (
    ConductorError,
    NotAllowed,
    Overloaded,
    PayloadTooLarge,
)
from apps.core.logs import bind
from apps.core.request_context import request_id_of
from apps.web.body_limits import body_limit
from apps.web.request_context import REQUEST_ID
from apps.web.waiting import Suspended, SuspendedResponse, once

TEMPLATES = {400: "400.html", 403: "403.html", 404: "404.html"}
logger = logging.getLogger(__name__)
ResponseT = TypeVar("ResponseT", bound=HttpResponse)
SECOND_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
WITHOUT_SECOND_FACTOR = (
    "mfa_index",
    "account_language",
    "account_logout",
    "account_reauthenticate",
    "account_email_verification_sent",
)
"""Pages, with all below them, that lead to a second factor, or out, or to another
language."""
FOR_ANYONE = "/shared/"
"""Where share links lead: who opens one is the same to them, signed in or not."""


class RequestIdMiddleware:
    """Gives each request an id, for logs, ledger entries and the answer's header."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-Id", "")
        # A view that waits runs twice, for one request with one id.
        request_id = once(request, "request_id", lambda: request_id_of(given))
        request.META[REQUEST_ID] = request_id
        bind(request_id=request_id)
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        return response


class DomainErrorMiddleware:
    """Answers a ConductorError raised by a view as a page, or as JSON if asked for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Translate a ConductorError or an outage; leave the rest to Django."""
        if isinstance(exception, Suspended):
            return SuspendedResponse(exception.work)
        if is_outage(exception):
            return _answer_outage(request, exception)
        if not isinstance(exception, ConductorError):
            return None
        return _answer(request, exception)


class PrivatePagesMiddleware:
    """Keeps pages of signed-in people out of shared caches.

    Pages about second factors show secrets: not even their own browser stores them.
    Responses that set Cache-Control themselves are unchanged.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            is_secret = request.path.startswith(_address("mfa_index"))
            kept = "private, no-store" if is_secret else "private, no-cache"
            response.headers.setdefault("Cache-Control", kept)
        return response


class SecondFactorMiddleware:
    """Where REQUIRE_MFA is set, refuses people who signed in with one factor.

    Programs with an API key have no session and are not concerned.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            is_free_to_go = not _lacks_second_factor(request)
        except Error as exc:
            if not is_outage(exc):
                raise
            return _answer_outage(request, exc)
        if is_free_to_go:
            return self.get_response(request)
        if _is_for_a_program(request):
            return _as_json(NotAllowed("set up a second factor first"))
        return redirect("mfa_index")


class AdminPolicyMiddleware:
    """Allows the scripts and styles of the record lists on these alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        match = request.resolver_match
        if match is not None and match.app_name == "admin":
            # Read by django-csp, which comes after this on the way out.
            response._csp_update = settings.ADMIN_POLICY  # type: ignore[attr-defined]
        return response


@cache
def _address(name: str) -> str:
    return reverse(name)


def _lacks_second_factor(request: HttpRequest) -> bool:
    if not settings.REQUIRE_MFA or request.path.startswith(FOR_ANYONE):
        return False
    if not request.user.is_authenticated:
        return False
    if any(request.path.startswith(_address(name)) for name in WITHOUT_SECOND_FACTOR):
        return False
    return not is_mfa_enabled(request.user, SECOND_FACTORS)


def wants_json(request: HttpRequest) -> bool:
    """Say whether the client prefers JSON to a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == (
        "application/json"
    )


def answer_stopping(request: HttpRequest) -> HttpResponse:
    """Say that the process stops before the request has been answered."""
    error = Overloaded(
        "this process is shutting down; what was asked for may have been done all the "
        "same, so look before you ask again",
        retry_after_s=1,
    )
    return _answer_anybody(request, error)


def answer_too_large(request: HttpRequest) -> HttpResponse:
    """Say that a request's body is longer than the site takes."""
    limit = body_limit(request.path)
    error = PayloadTooLarge(f"the request body is longer than {limit} bytes")
    return _answer_anybody(request, error)


def _is_for_a_program(request: HttpRequest) -> bool:
    return wants_json(request) or request.path.startswith("/api/")


def _answer(request: HttpRequest, error: ConductorError) -> HttpResponse:
    if wants_json(request):
        return _as_json(error)
    template = TEMPLATES.get(error.http_status, "web/error.html")
    return _as_page(error, render_to_string(template, _context(error), request))


def _answer_outage(request: HttpRequest, fault: Exception) -> HttpResponse:
    # With the request the log names the route: a path may hold a secret.
    logger.warning("%s: %s", request.path, fault, extra={"request": request})
    return _answer_anybody(request, database_away())


def _answer_anybody(request: HttpRequest, error: ConductorError) -> HttpResponse:
    """Answer without asking the database who is asking."""
    if _is_for_a_program(request):
        return _as_json(error)
    return _as_page(error, render_to_string("web/error.html", _context(error)))


def _context(error: ConductorError) -> dict[str, object]:
    return {"message": error.message, "code": error.http_status}


def _as_page(error: ConductorError, page: str) -> HttpResponse:
    return _when_to_return(HttpResponse(page, status=error.http_status), error)


def _as_json(error: ConductorError) -> JsonResponse:
    body = {"message": error.message, "code": error.code, "param": error.param}
    response = JsonResponse({"error": body}, status=error.http_status)
    return _when_to_return(response, error)


def _when_to_return(response: ResponseT, error: ConductorError) -> ResponseT:
    if error.retry_after_s is not None:
        response["Retry-After"] = str(error.retry_after_s)
    return response
