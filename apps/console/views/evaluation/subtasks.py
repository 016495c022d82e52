"""Subtasks of graded runs, compared by what came of them."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.accounts.models import Permission
from apps.console.evaluations.subtask_rows import subtask_rows
from apps.console.forms.subtasks import SubtasksForm
from apps.console.layout import console_page, require
from apps.training.services import FEWEST_USES, subtasks_compare
from apps.web.team_access import TeamRequest, team_view

TAB = "learning"
SHOWN = 200
"""Rows of the page; REST has all."""


@require_GET
@team_view
def subtasks_page(request: TeamRequest) -> HttpResponse:
    """Compare the subtasks of a pool; each reading is recorded."""
    require(request, Permission.READ_RUNS)
    form = SubtasksForm(request.team.id, request.GET)
    found = None
    if form.chosen_pool:
        found = subtasks_compare(
            team=request.team,
            pool=form.chosen_pool,
            family=form.chosen_family,
            worker=form.chosen_worker,
            actor=request.actor,
        )
    context = {
        "form": form,
        "found": found,
        "outcomes": subtask_rows(found.outcomes[:SHOWN]) if found else [],
        "hidden": max(0, len(found.outcomes) - SHOWN) if found else 0,
        "fewest": FEWEST_USES,
    }
    return console_page(request, "console/subtasks.html", context, tab=TAB)
