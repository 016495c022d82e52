"""The context of Django's requests: for ledger entries, and for links on pages."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from apps.core.request_context import request_context

REQUEST_ID = "conductor.request_id"
"""Where `RequestIdMiddleware` puts the id of a request, in `META`."""


def context_of(request: HttpRequest) -> dict[str, str]:
    """Return the id, the address and the user agent of a request."""
    meta = request.META
    return request_context(
        meta[REQUEST_ID],
        meta.get("REMOTE_ADDR") or "",
        meta.get("HTTP_USER_AGENT", ""),
    )


def shown_site_url(request: HttpRequest) -> str:
    """Return `CONDUCTOR_URL`, or, while that is not set, where the request went.

    The request's host is one that `ALLOWED_HOSTS` allows: Django refuses all others.
    What leaves the site, such as a mail, never takes its address from a request.
    """
    if settings.IS_CONDUCTOR_URL_GIVEN:
        return str(settings.CONDUCTOR_URL)
    return f"{request.scheme}://{request.get_host()}"
