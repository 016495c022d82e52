"""Feedback on a run from its page."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from apps.accounts.rights import RATE
from apps.core.errors import Conflict, InvalidInput, NotFound
from apps.governance.services import feedback_give, feedback_withdraw
from apps.runs.models import Run
from apps.runs.selectors import access_run
from apps.web.middleware import wants_json
from apps.web.team_access import TeamRequest, refusal_show, team_view


@require_POST
@team_view
def run_feedback(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Rate the answer of a run; with `withdraw` in the body take the rating back.

    For a page's script, say what was done as JSON, and stay where it is.
    """
    request.principal.require(RATE)
    run = access_run(team_id=request.team.id, run_id=run_id)
    if wants_json(request):
        return JsonResponse({"done": _change(request, run)})
    feedback_change(request, run)
    return redirect("playground:run_detail", run.id)


def feedback_change(request: TeamRequest, run: Run) -> None:
    """Rate the answer of a run as a form says; a message says what was done."""
    try:
        messages.success(request, _change(request, run))
    except (InvalidInput, Conflict, NotFound) as error:
        refusal_show(request, error)


def _change(request: TeamRequest, run: Run) -> str:
    """Make the change; return what was done."""
    if "withdraw" in request.POST:
        feedback_withdraw(run=run, actor=request.actor)
        return gettext("Your rating is taken back.")
    feedback_give(
        run=run,
        rating=request.POST.get("rating", ""),
        comment=request.POST.get("comment", ""),
        actor=request.actor,
    )
    return gettext("Thank you: your rating is recorded.")
