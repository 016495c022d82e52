"""The list of runs as a page and as a file. Every filter is in the address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.accounts.rights import RUN
from apps.accounts.selectors import require_permission, role_allows
from apps.core.errors import Conflict, InvalidFields, InvalidInput
from apps.governance.approvals.pending import runs_waiting
from apps.playground.run_lists.listed import back_to_list, filter_form
from apps.playground.run_lists.pagination import LongPaginator
from apps.runs.models import SavedView
from apps.runs.saved_views import (
    access_saved_view,
    saved_view_create,
    saved_view_delete,
    saved_view_list,
)
from apps.runs.selectors import (
    SEARCHED,
    SORTED,
    RunSort,
    access_run,
    run_search,
    runs_sorted,
    with_labels,
)
from apps.runs.services import (
    MAX_SELECTED_RUNS,
    MOST_EXPORTED,
    RunListFormat,
    run_list_export,
    run_tags_set,
)
from apps.web.downloads import download
from apps.web.team_access import TeamRequest, page, refusal_show, team_view

RUNS_PER_PAGE = 25
COLUMNS_HIDDEN = "run_columns_hidden"
"""In the session."""
COLUMNS = {
    "plan": _("Plan"),
    "state": _("State"),
    "model": _("Model"),
    "who": _("Who"),
    "steps": _("Steps"),
    "tokens": _("Tokens"),
    "cost": _("Cost"),
    "time": _("Time"),
    "started": _("Started"),
}
"""Those that can be hidden; the prompt is always there."""
NUMBERS = ("steps", "tokens", "cost", "time")


@require_GET
@team_view
def run_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's runs."""
    form = filter_form(request)
    views = list(saved_view_list(request.team.id, request.user))
    opened = _opened(request, views)
    hidden = _hidden(request, opened)
    search = run_search(team_id=request.team.id, filters=form.filters)
    runs = search.runs
    if form.sorted_by:
        runs = runs_sorted(runs, form.sorted_by, ascending=form.is_ascending)
    found = LongPaginator(runs, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    with_labels(request.team.id, list(found))
    context = {
        "section": "runs",
        "form": form,
        "runs": found,
        "waiting": runs_waiting(
            request.team.id, [run.id for run in found if not run.is_over]
        ),
        "columns": _columns(request, hidden),
        "hidden": " ".join(hidden),
        "views": views,
        "opened": opened,
        "unsorted": _sort_query(request, ""),
        "sorted": SORTED if form.sorted_by else None,
        "gaps": search.sentences,
        "searched": SEARCHED if form.is_search else None,
        "query": query.urlencode(),
        "may_export": role_allows(request.membership.role, Permission.EXPORT_RUNS),
        "most_exported": MOST_EXPORTED,
        "here": request.GET.urlencode(),
        "most_selected": MAX_SELECTED_RUNS,
        "may_select_all": found.paginator.num_pages > 1
        and found.paginator.count <= MAX_SELECTED_RUNS,
        "file_formats": RunListFormat.choices,
    }
    return page(request, "playground/run_list.html", context)


@require_POST
@team_view
def run_list_file(request: TeamRequest) -> HttpResponseBase:
    """Return the filtered list as a file; that is recorded."""
    require_permission(request.membership.role, Permission.EXPORT_RUNS)
    wanted = request.POST.get("format", "")
    if wanted not in RunListFormat.values:
        raise InvalidInput("expected the format csv or jsonl", param="format")
    form, kind = filter_form(request), RunListFormat(wanted)
    if not form.is_valid():
        raise InvalidInput("a filter of this list cannot be read", param="filters")
    parts = run_list_export(
        team_id=request.team.id,
        runs=run_search(team_id=request.team.id, filters=form.filters).runs,
        form=kind,
        filters=form.names_set,
        actor=request.actor,
    )
    return download(request, parts, name=f"runs.{kind}", kind=kind.media_type)


@require_POST
@team_view
def run_tags(request: TeamRequest, run_id: UUID) -> HttpResponseBase:
    """Give a run the tags of a text with commas between, and no others."""
    request.principal.require(RUN)
    run = access_run(team_id=request.team.id, run_id=run_id)
    given = [tag for tag in request.POST.get("tags", "").split(",") if tag.strip()]
    try:
        run_tags_set(run=run, tags=given, actor=request.actor)
    except InvalidFields as error:
        refusal_show(request, error)
    return redirect("playground:run_detail", run.id)


@require_POST
@team_view
def run_list_columns(request: TeamRequest) -> HttpResponseBase:
    """Remember which columns a person wants to see, for their session."""
    shown = set(request.POST.getlist("columns"))
    hidden = [name for name in COLUMNS if name not in shown]
    request.session[COLUMNS_HIDDEN] = hidden
    asked = request.GET.copy()
    asked.pop("view", None)  # its columns are not those that were just chosen
    query, address = asked.urlencode(), reverse("playground:run_list")
    return redirect(f"{address}?{query}" if query else address)


@require_POST
@team_view
def saved_view_keep(request: TeamRequest) -> HttpResponseBase:
    """Keep the list as it is shown, under a name."""
    seen = saved_view_list(request.team.id, request.user)
    values = {
        "name": request.POST.get("name", ""),
        "query": request.GET.urlencode(),
        "hidden": _hidden(request, _opened(request, seen)),
        "is_shared": "is_shared" in request.POST,
    }
    try:
        view = saved_view_create(principal=request.principal, values=values)
    except (InvalidFields, Conflict) as error:
        refusal_show(request, error)
        return back_to_list(request)
    return redirect(_address_of(view))


@require_POST
@team_view
def saved_view_remove(request: TeamRequest, view_id: UUID) -> HttpResponseBase:
    """Delete a view of one's own."""
    view = access_saved_view(request.principal, view_id)
    saved_view_delete(principal=request.principal, view=view)
    return redirect("playground:run_list")


def _opened(request: TeamRequest, views: Iterable[SavedView]) -> SavedView | None:
    """Return the view that the address names, if the person sees it."""
    asked = request.GET.get("view")
    return next((view for view in views if str(view.id) == asked), None)


def _hidden(request: TeamRequest, opened: SavedView | None) -> list[str]:
    """Return the columns that are hidden: by the view, or as the person chose."""
    chosen: list[str] = request.session.get(COLUMNS_HIDDEN, [])
    return opened.hidden if opened else chosen


def _address_of(view: SavedView) -> str:
    query = urlencode({**dict(parse_qsl(view.query)), "view": str(view.id)})
    return f"{reverse('playground:run_list')}?{query}"


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column of the list: its head, and where a click on that leads."""

    name: str
    label: str
    is_shown: bool
    is_number: bool
    is_sortable: bool
    query: str
    """Of the list sorted by it."""
    direction: str
    """ascending or descending, if the list is sorted by it."""


def _columns(request: TeamRequest, hidden: Sequence[str]) -> list[ListColumn]:
    asked = request.GET.get("sort", "")
    return [
        ListColumn(
            name,
            gettext(label),
            name not in hidden,
            name in NUMBERS,
            name in RunSort.values,
            _sort_query(request, name),
            {name: "descending", f"-{name}": "ascending"}.get(asked, ""),
        )
        for name, label in COLUMNS.items()
    ]


def _sort_query(request: TeamRequest, name: str) -> str:
    """Return the query of the list sorted by a column; empty: by none.

    The first click on a head sorts downwards, the second upwards, the third not.
    """
    query = request.GET.copy()
    query.pop("page", None)
    asked = query.pop("sort", [""])[0]
    if name and asked != f"-{name}":
        query["sort"] = f"-{name}" if asked == name else name
    return query.urlencode()
