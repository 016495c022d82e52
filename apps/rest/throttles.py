"""Rate limits: every request of a key counts, and every run.

A run is counted with the tokens of its prompt, once that has been read (`pass_run`);
other requests when they arrive. The answer's headers say what is left.
"""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.accounts.principal import Principal
from apps.budgets.rate_limits import Admission, admit
from apps.runs.admission import run_admit
from apps.web.waiting import once


class Rates(BaseThrottle):
    """Counts a request of a key."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Return True, or raise RateLimited, which says when to come back."""
        principal: Principal | None = getattr(view, "principal", None)
        is_run = view.starts_runs and request.method == "POST"
        if principal is None or principal.key is None or is_run:
            return True
        pass_request(view)
        return True


def pass_request(view: Any) -> None:
    """Admit a request of a key that starts no run; a member's passes.

    Raises: RateLimited.
    """
    key = view.principal.key
    if key is None:
        return
    # A view that waited runs a second time; its request counts once.
    request = view.request._request
    view.admission = once(request, "admission", lambda: admit(key))
    view.admission.require()


def pass_run(view: Any, model: str, prompt: str) -> Admission:
    """Admit a run; the answer's headers say what the rates leave.

    Raises: NotAllowed, RateLimited.
    """
    admission = run_admit(view.principal, model, prompt)
    view.admission = admission
    admission.require()
    return admission
