"""Budgets of the team, its members and its keys."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.models import Permission
from apps.accounts.selectors import live_key_list, member_list
from apps.budgets.selectors import access_budget, budget_list
from apps.budgets.services import budget_create, budget_delete, budget_update
from apps.console.budget_rows import (
    PERIOD_WORDS,
    BudgetRow,
    budget_rows,
    target_words,
    unpriced_links,
)
from apps.console.forms.budgets import BudgetForm, LimitForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.core.money import usd_text
from apps.web.team_access import TeamRequest, team_view

GROUPS = (("team", _("Team")), ("member", _("Members")), ("key", _("API keys")))


@require_GET
@team_view
def budget_list_page(request: TeamRequest) -> HttpResponseBase:
    """Show every budget with what is spent, reserved and left, and the rates."""
    rows = budget_rows(budget_list(request.team.id))
    groups = [(gettext(title), _of_kind(rows, kind)) for kind, title in GROUPS]
    context = {
        "groups": [group for group in groups if group[1]],
        "unpriced": unpriced_links(request.team.id) if rows else [],
    }
    return console_page(request, "console/budgets.html", context, tab="budgets")


@require_http_methods(["GET", "POST"])
@team_view
def budget_create_page(request: TeamRequest) -> HttpResponseBase:
    """Set a new budget."""
    require(request, Permission.MANAGE_BUDGETS)
    team_id = request.team.id
    keys = live_key_list(team_id, timezone.now())
    form = BudgetForm(posted(request), member_list(team_id), keys, _asked(request))
    if form.is_valid():
        made = try_change(
            form,
            lambda: budget_create(
                team=request.team, values=form.values, actor=request.actor
            ),
        )
        if made:
            messages.success(request, gettext("The budget is set."))
            return redirect("console:budget_list")
    context = {"form": form, "unpriced": unpriced_links(team_id)}
    return console_page(request, "console/budget_new.html", context, tab="budgets")


@require_http_methods(["GET", "POST"])
@team_view
def budget_edit(request: TeamRequest, budget_id: uuid.UUID) -> HttpResponseBase:
    """Change the limit of a budget."""
    require(request, Permission.MANAGE_BUDGETS)
    budget = access_budget(request.team.id, budget_id)
    limit = usd_text(budget.limit_micros)
    form = LimitForm(posted(request), initial={"limit_usd": limit})
    if form.is_valid():
        values = {"limit_usd": format(form.cleaned_data["limit_usd"], "f")}
        changed = try_change(
            form,
            lambda: budget_update(budget=budget, values=values, actor=request.actor),
        )
        if changed:
            messages.success(
                request, gettext("The limit is saved. It holds from now on.")
            )
            return redirect("console:budget_list")
    context = {
        "title": gettext("Budget %(period)s: %(target)s")
        % {
            "period": gettext(PERIOD_WORDS[budget.period]),
            "target": target_words(budget),
        },
        "lead": gettext(
            "What was spent in the current period counts against the new limit."
        ),
        "form": form,
        "label": gettext("Save limit"),
        "back": reverse("console:budget_list"),
    }
    return console_page(request, "console/form.html", context, tab="budgets")


@require_http_methods(["GET", "POST"])
@team_view
def budget_delete_page(request: TeamRequest, budget_id: uuid.UUID) -> HttpResponseBase:
    """Delete a budget, after asking."""
    require(request, Permission.MANAGE_BUDGETS)
    budget = access_budget(request.team.id, budget_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: budget_delete(budget=budget, actor=request.actor),
            gettext("The budget is deleted."),
            "console:budget_list",
        )
    period = gettext(PERIOD_WORDS[budget.period])
    about = {
        "target": target_words(budget),
        "limit": f"${usd_text(budget.limit_micros)} {period}",
    }
    context = {
        "title": gettext("Delete the budget of “%(target)s”, %(limit)s?") % about,
        "points": [
            gettext(
                "Nothing limits this spending any more, except other budgets that "
                "apply."
            ),
            gettext("What was spent stays on record."),
        ],
        "label": gettext("Delete"),
        "back": reverse("console:budget_list"),
    }
    return console_page(request, "console/confirm.html", context, tab="budgets")


def _of_kind(rows: list[BudgetRow], kind: str) -> list[BudgetRow]:
    return [row for row in rows if row.budget.kind == kind]


def _asked(request: TeamRequest) -> dict[str, Any]:
    """Return what a link to this page fills in: a key or a member."""
    if "key" in request.GET:
        return {"kind": "key", "api_key": request.GET["key"], "period": "day"}
    if "member" in request.GET:
        return {"kind": "member", "user": request.GET["member"]}
    return {}
