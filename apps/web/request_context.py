"""The context of Django's requests, as ledger entries hold it."""

from __future__ import annotations

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
