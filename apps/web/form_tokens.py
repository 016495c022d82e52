"""Forms that count once: sending one again, by a reload, changes nothing.

For pages that answer a form with a secret. The secret may not wait in a session for a
redirect, so the page is the answer itself, and a reload would make a second secret.
"""

from __future__ import annotations

from django.http import HttpRequest

from apps.core.ids import new_id

SESSION_KEY = "used_forms"
REMEMBERED = 50
"""Forms that a session remembers."""


def once_mark() -> str:
    """Return a mark for the hidden field of a new form."""
    return new_id().hex


def was_used(request: HttpRequest, mark: str) -> bool:
    """Say whether a form with this mark was already used in this session."""
    return mark in request.session.get(SESSION_KEY, [])


def note_used(request: HttpRequest, mark: str) -> None:
    """Remember that the form with this mark has done its work."""
    if not mark:
        return
    used = [*request.session.get(SESSION_KEY, []), mark]
    request.session[SESSION_KEY] = used[-REMEMBERED:]
