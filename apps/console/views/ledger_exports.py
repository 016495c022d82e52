"""Exports of the team's ledger: request one, see how far it is, download, delete."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.audit.browsing.search import actions_recorded
from apps.audit.exports.jobs import (
    MAX_KEPT,
    access_export,
    export_delete,
    export_download,
    export_list,
    export_request,
)
from apps.audit.exports.parts import FILE_TYPE
from apps.audit.models import ExportFormat
from apps.console.export_rows import export_rows, filter_words
from apps.console.forms.ledger import ExportForm, LedgerForm
from apps.console.layout import console_page, posted, require, try_change
from apps.web.downloads import download
from apps.web.team_access import TeamRequest, team_view

TAB = "ledger"


@require_http_methods(["GET", "POST"])
@team_view
def ledger_exports(request: TeamRequest) -> HttpResponseBase:
    """List the team's exports, and request one with the filter in the address."""
    require(request, Permission.EXPORT_RUNS)
    team_id = request.team.id
    filters = LedgerForm(request.GET, actions_recorded(team_id))
    form = ExportForm(posted(request), initial={"format": ExportFormat.JSONL})
    if form.is_bound and filters.errors:
        form.add_error(None, gettext("A filter in the address is not understood."))
    if form.is_bound and form.is_valid():
        made = try_change(
            form,
            lambda: export_request(
                team_id=team_id,
                wanted=filters.wanted,
                form=ExportFormat(form.cleaned_data["format"]),
                has_texts=form.cleaned_data["texts"],
                actor=request.actor,
            ),
        )
        if made:
            return redirect("console:ledger_exports")
    rows = export_rows(export_list(team_id=team_id))
    context = {
        "form": form,
        "query": filters.query,
        "words": filter_words(filters.wanted),
        "rows": rows,
        "is_busy": any(row.is_open for row in rows),
        "most": MAX_KEPT,
    }
    status = 400 if form.is_bound else 200
    return console_page(
        request, "console/ledger_exports.html", context, tab=TAB, status=status
    )


@require_POST
@team_view
def ledger_export_file(request: TeamRequest, export_id: UUID) -> HttpResponseBase:
    """Return the file of an export; that is recorded."""
    require(request, Permission.EXPORT_RUNS)
    export = access_export(team_id=request.team.id, export_id=export_id)
    parts = export_download(export=export, actor=request.actor)
    name = f"ledger-{export.id}.zip"
    return download(request, parts, name=name, kind=FILE_TYPE, size=export.size)


@require_POST
@team_view
def ledger_export_delete(request: TeamRequest, export_id: UUID) -> HttpResponseBase:
    """Delete an export, or cancel it."""
    require(request, Permission.EXPORT_RUNS)
    export = access_export(team_id=request.team.id, export_id=export_id)
    export_delete(export=export, actor=request.actor)
    messages.success(request, gettext("The export was deleted."))
    return redirect("console:ledger_exports")
