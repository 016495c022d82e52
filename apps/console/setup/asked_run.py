"""The question that somebody wanted real models for, to be asked again with them."""

from __future__ import annotations

import uuid

from django.urls import reverse

from apps.web.team_access import TeamRequest

ASKED_RUN = "setup_asked_run"
"""In the session: the run whose question is asked again once models are in use."""


def asked_run_note(request: TeamRequest) -> None:
    """Note the run from whose page somebody connects a model, if it names one."""
    try:
        run_id = uuid.UUID(request.POST.get("run", ""))
    except ValueError:
        return
    request.session[ASKED_RUN] = str(run_id)


def asked_again_url(request: TeamRequest) -> str:
    """Return the playground's address with that question, once; empty: no question."""
    run_id = request.session.pop(ASKED_RUN, "")
    return f"{reverse('playground:index')}?from={run_id}" if run_id else ""
