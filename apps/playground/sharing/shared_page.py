"""The page that a share link leads to, for anyone, without an account.

It sets no cookie and looks at none but that of a language. It runs no script, and is
neither stored nor found by search engines. A link that does not work reads the same
whatever the reason.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.core.errors import ConductorError, NotFound
from apps.playground.sharing.page_budget import PageBudget
from apps.playground.sharing.shared_turns import shared_turn
from apps.sharing.errors import TooManyLookups
from apps.sharing.lookups import lookups
from apps.sharing.models import ShareLink
from apps.sharing.selectors import runs_shown, share_link_find
from apps.sharing.services import share_link_note_view
from apps.web.request_context import context_of

logger = logging.getLogger(__name__)
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
POLICY = {
    "script-src": ["'none'"],
    "connect-src": ["'none'"],
    "form-action": ["'none'"],
}
"""In place of the site's: the page has no script and no form."""


@require_safe
def shared_page(request: HttpRequest, share_token: str) -> HttpResponseBase:
    """Show what a link shares, or that it does not work any more."""
    # Instead of a session: middleware would read, renew or delete its cookie.
    request.session = {}  # type: ignore[assignment]
    try:
        lookups.note(request.META.get("REMOTE_ADDR") or "")
        link = share_link_find(share_token, timezone.now())
    except NotFound:
        return _answer("shared/gone.html", {}, 404)
    except TooManyLookups as error:
        response = _answer("shared/too_many.html", {"message": error.message}, 429)
        response["Retry-After"] = str(error.retry_after_s)
        return response
    if request.method == "HEAD":
        return _response("", 200)
    response = _answer("shared/page.html", _context(link), 200)
    try:
        share_link_note_view(link, context_of(request))
    except (ConductorError, DatabaseError, ValueError):
        # The visitor must not suffer from a ledger that takes no entry.
        logger.exception("a view of share link %s is not recorded", link.id)
    return response


def _context(link: ShareLink) -> dict[str, Any]:
    runs, budget = runs_shown(link), PageBudget()
    turns = [
        shared_turn(run, number, budget, has_plan=link.has_plan)
        for number, run in enumerate(runs, start=1)
    ]
    maker = link.made_by
    return {
        "is_conversation": link.turn is not None,
        "turns": turns,
        "title": turns[0].prompt if turns else "",
        "name": maker.get_full_name() if link.has_name and maker else "",
        "expires_at": link.expires_at,
    }


def _answer(template: str, context: dict[str, Any], status: int) -> HttpResponse:
    # Without the request: its context would look at the visitor's cookies.
    return _response(render_to_string(template, context), status)


def _response(page: str, status: int) -> HttpResponse:
    response = HttpResponse(page, status=status, headers=HEADERS)
    # Read by django-csp, as in `web.middleware`.
    response._csp_replace = POLICY  # type: ignore[attr-defined]
    return response
