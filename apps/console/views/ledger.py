"""Pages of the team's ledger: its entries, one entry, the state of the chain."""

from __future__ import annotations

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.audit.browsing.chain_status import chain_status
from apps.audit.browsing.fact_words import differences_of, facts_of
from apps.audit.browsing.full_checks import full_check_request
from apps.audit.browsing.one_entry import entry_open
from apps.audit.browsing.search import SEARCHED, actions_recorded, entries_find
from apps.console.forms.ledger import LedgerForm
from apps.console.layout import console_page, require
from apps.console.ledger_rows import ledger_rows, thing_page
from apps.core.errors import NotFound
from apps.web.team_access import TeamRequest, team_view

TAB = "ledger"
PAGE = 50
TEXT_SHOWN = 2_000
"""Characters of a text on the page of its entry."""


@require_GET
@team_view
def ledger_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's entries that the filters in the address let through."""
    require(request, Permission.READ_AUDIT)
    team_id = request.team.id
    form = LedgerForm(request.GET, actions_recorded(team_id))
    wanted = form.wanted
    found = entries_find(team_id, wanted, limit=PAGE, **form.place)
    rows = ledger_rows(team_id, found.entries)
    context = {
        "form": form,
        "is_active": wanted.is_active,
        "found": found,
        "rows": rows,
        "about": rows[0] if wanted.subject_id and rows else None,
        "query": form.query,
        "most_searched": SEARCHED,
        "status": chain_status(team_id),
    }
    return console_page(request, "console/ledger.html", context, tab=TAB)


@require_GET
@team_view
def ledger_entry(request: TeamRequest, seq: int) -> HttpResponseBase:
    """Show everything that is on record of an entry."""
    require(request, Permission.READ_AUDIT)
    opened = entry_open(request.team.id, seq)
    if opened is None:
        raise NotFound(f"the ledger of this team has no entry {seq}")
    entry = opened.entry
    context = {
        "opened": opened,
        "entry": entry,
        "row": ledger_rows(request.team.id, [entry])[0],
        "differences": differences_of(entry.data, gettext),
        "facts": facts_of(entry.data, gettext),
        "thing": thing_page(request.team.id, entry),
        "text_shown": TEXT_SHOWN,
    }
    return console_page(request, "console/ledger_entry.html", context, tab=TAB)


@require_GET
@team_view
def ledger_status(request: TeamRequest) -> HttpResponseBase:
    """Show the state of the chain alone; the page's script asks during a check."""
    require(request, Permission.READ_AUDIT)
    context = {"status": chain_status(request.team.id)}
    return console_page(request, "console/ledger_status.html", context, tab=TAB)


@require_POST
@team_view
def ledger_check(request: TeamRequest) -> HttpResponseBase:
    """Have the whole chain verified in the background."""
    require(request, Permission.READ_AUDIT)
    if not full_check_request(team_id=request.team.id, actor=request.actor):
        messages.info(request, gettext("The ledger is being verified already."))
    return redirect("console:ledger")
