"""Rates: every request of a key counts, and every run, whoever starts it.

What starts a run is counted with its prompt's tokens, once it is known (`pass_run`);
all else when it comes. The answer says what is left.
"""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.budgets.rate_limits import TokenMeter, admit, admit_member
from apps.engine.usage import estimate_tokens
from apps.rest.asker import Asker
from apps.web.waiting import once


class Rates(BaseThrottle):
    """Counts a request of a key."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Return True, or raise RateLimited, which says when to come back."""
        asker: Asker | None = getattr(view, "asker", None)
        is_run = view.starts_runs and request.method == "POST"
        if asker is None or asker.key is None or is_run:
            return True
        key = asker.key
        # A view that waited runs a second time; its request counts once.
        view.admission = once(request._request, "admission", lambda: admit(key))
        view.admission.require()
        return True


def pass_run(view: Any, prompt: str) -> TokenMeter | None:
    """Let a run through and return what counts its tokens at the end.

    Raises: RateLimited.
    """
    asker: Asker = view.asker
    tokens = estimate_tokens(prompt)
    admission = (
        admit_member(asker.team, prompt_tokens=tokens)
        if asker.key is None
        else admit(asker.key, prompt_tokens=tokens)
    )
    view.admission = admission
    admission.require()
    return admission.meter
