"""What every page goes through.

The product's errors become answers for browsers, in one place; a second factor is
asked for where the site requires one; pages stay out of shared caches; the admin gets
its own content policy.
"""

from __future__ import annotations

from collections.abc import Callable

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from apps.core.errors import ConductorError, NotAllowed

TEMPLATES = {400: "400.html", 403: "403.html", 404: "404.html"}
SECOND_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
WITHOUT_SECOND_FACTOR = (
    "mfa_index",
    "account_logout",
    "account_reauthenticate",
    "account_email_verification_sent",
)
"""Pages, with all below them, that lead to a second factor or out."""


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


class PrivatePagesMiddleware:
    """Keeps what somebody with a session sees out of caches that others share.

    Pages about second factors show secrets: not even their own browser stores them.
    What says itself how it may be kept is left alone.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            is_secret = request.path.startswith(reverse("mfa_index"))
            kept = "private, no-store" if is_secret else "private, no-cache"
            response.headers.setdefault("Cache-Control", kept)
        return response


class SecondFactorMiddleware:
    """Where REQUIRE_MFA is set, lets nobody past who has signed in with one factor.

    Programs with an API key have no session and are not concerned.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not _lacks_second_factor(request):
            return self.get_response(request)
        if wants_json(request) or request.path.startswith("/api/"):
            return _as_json(NotAllowed("set up a second factor first"))
        return redirect("mfa_index")


class AdminPolicyMiddleware:
    """Allows the admin's scripts and styles on the admin's pages, nowhere else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.path.startswith(reverse("admin:index")):
            # Read by django-csp, which comes after this on the way out.
            response._csp_update = settings.ADMIN_POLICY  # type: ignore[attr-defined]
        return response


def _lacks_second_factor(request: HttpRequest) -> bool:
    if not settings.REQUIRE_MFA or not request.user.is_authenticated:
        return False
    if any(request.path.startswith(reverse(name)) for name in WITHOUT_SECOND_FACTOR):
        return False
    return not is_mfa_enabled(request.user, SECOND_FACTORS)


def wants_json(request: HttpRequest) -> bool:
    """Say whether the client prefers JSON to a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == (
        "application/json"
    )


def _answer(request: HttpRequest, error: ConductorError) -> HttpResponse:
    if wants_json(request):
        return _as_json(error)
    template = TEMPLATES.get(error.http_status, "web/error.html")
    context = {"message": error.message, "code": error.http_status}
    return render(request, template, context, status=error.http_status)


def _as_json(error: ConductorError) -> JsonResponse:
    body = {"message": error.message, "code": error.code, "param": error.param}
    return JsonResponse({"error": body}, status=error.http_status)
