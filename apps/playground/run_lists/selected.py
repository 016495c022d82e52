"""What is done with several runs of the list at once.

Each action needs the right that it needs for a single run. An id of another team's run
is as one that nobody has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from apps.accounts.models import Permission
from apps.accounts.rights import RUN
from apps.accounts.selectors import require_permission
from apps.core.errors import InvalidFields, InvalidInput
from apps.governance.services import reviews_request
from apps.playground.run_lists.listed import back_to_list, filter_form
from apps.playground.run_lists.selected_words import done_text, unchanged_texts
from apps.runs.models import Run
from apps.runs.selectors import run_search
from apps.runs.services import (
    MAX_SELECTED_RUNS,
    RunListFormat,
    RunsChanged,
    run_list_export,
    runs_cancel,
    runs_tags_change,
)
from apps.web.downloads import download
from apps.web.team_access import TeamRequest, refusal_show, team_view

SELECTED = "selected"
"""In the entry of an export, beside the names of filters: runs were picked."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The runs that somebody picked in the list, newest first."""

    runs: Sequence[Run]
    missing: int
    """Ids that the team does not have."""
    filters: Sequence[str]
    """What narrowed the list to these runs, for the entry of an export."""


@require_POST
@team_view
def runs_selected(request: TeamRequest) -> HttpResponseBase:
    """Change the selected runs, or return them as a file."""
    action = request.POST.get("action", "")
    if action in RunListFormat.values:
        require_permission(request.membership.role, Permission.EXPORT_RUNS)
    elif action not in CHANGES:
        raise InvalidInput("expected a known action", param="action")
    try:
        selection = _selection(request)
    except InvalidInput as error:
        messages.error(request, error.message)
        return back_to_list(request)
    if action in RunListFormat.values:
        return _file(request, selection, RunListFormat(action))
    try:
        outcome = CHANGES[action](request, selection.runs)
    except InvalidFields as error:
        refusal_show(request, error)
        return back_to_list(request)
    if done := done_text(action, outcome):
        messages.success(request, done)
    for text in unchanged_texts(outcome, selection.missing):
        messages.warning(request, text)
    return back_to_list(request)


def _selection(request: TeamRequest) -> Selection:
    """Return the runs that are selected. Raises: InvalidInput, in words for people."""
    if "all" in request.POST:
        return _matching(request)
    try:
        ids = {UUID(value) for value in request.POST.getlist("run")}
    except ValueError:
        raise InvalidInput(gettext("The selection cannot be read.")) from None
    if not ids:
        raise InvalidInput(gettext("Select at least one run."))
    if len(ids) > MAX_SELECTED_RUNS:
        raise InvalidInput(_limit_text())
    rows = Run.objects.for_team(request.team.id).filter(id__in=ids).order_by("-id")
    runs = list(rows)
    return Selection(runs, len(ids) - len(runs), (SELECTED,))


def _matching(request: TeamRequest) -> Selection:
    """Return all runs that the filters of the address leave."""
    form = filter_form(request)
    if not form.is_valid():
        raise InvalidInput(gettext("A filter of this list cannot be read."))
    search = run_search(team_id=request.team.id, filters=form.filters)
    runs = list(search.runs[: MAX_SELECTED_RUNS + 1])
    if len(runs) > MAX_SELECTED_RUNS:
        raise InvalidInput(_limit_text())
    return Selection(runs, 0, form.names_set)


def _limit_text() -> str:
    words = gettext("At most {number} runs can be changed at once. Set more filters.")
    return words.format(number=MAX_SELECTED_RUNS)


def _tags(request: TeamRequest) -> list[str]:
    request.principal.require(RUN)
    tags = [tag for tag in request.POST.get("tags", "").split(",") if tag.strip()]
    if not tags:
        raise InvalidFields({"tags": ["write at least one tag"]})
    return tags


def _tag(request: TeamRequest, runs: Sequence[Run]) -> RunsChanged:
    return runs_tags_change(
        team_id=request.team.id, runs=runs, add=_tags(request), actor=request.actor
    )


def _untag(request: TeamRequest, runs: Sequence[Run]) -> RunsChanged:
    return runs_tags_change(
        team_id=request.team.id, runs=runs, remove=_tags(request), actor=request.actor
    )


def _review(request: TeamRequest, runs: Sequence[Run]) -> RunsChanged:
    return reviews_request(runs=runs, principal=request.principal)


def _stop(request: TeamRequest, runs: Sequence[Run]) -> RunsChanged:
    request.principal.require(RUN)
    return runs_cancel(
        team_id=request.team.id,
        runs=runs,
        actor=request.actor,
        reason=f"stopped by {request.actor.display}",
    )


CHANGES = {"tag": _tag, "untag": _untag, "review": _review, "stop": _stop}


def _file(
    request: TeamRequest, selection: Selection, form: RunListFormat
) -> HttpResponseBase:
    rows = Run.objects.for_team(request.team.id).order_by("-id")
    parts = run_list_export(
        team_id=request.team.id,
        runs=rows.filter(id__in=[run.id for run in selection.runs]),
        form=form,
        filters=selection.filters,
        actor=request.actor,
    )
    return download(request, parts, name=f"runs.{form}", kind=form.media_type)
