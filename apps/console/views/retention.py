"""Pages of retention and legal holds."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.models import Permission
from apps.console.forms.retention import HoldForm, IdleForm, RetentionForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.governance.models import Retention
from apps.governance.selectors import (
    access_hold,
    holds_in_force,
    holds_released,
    idle_count,
    retention_status,
)
from apps.governance.services import (
    GRACE,
    hold_place,
    hold_release,
    idle_rule_set,
    retention_set,
)
from apps.governance.types import RetentionStatus
from apps.web.team_access import TeamRequest, team_view

TAB = "retention"
RELEASED_SHOWN = 50
"""The REST API has them all."""


@require_GET
@team_view
def retention_page(request: TeamRequest) -> HttpResponseBase:
    """Show the retention period, how far content is erased, and the legal holds."""
    context = {
        "status": retention_status(request.team.id),
        "holds": holds_in_force(request.team.id),
        "released": holds_released(request.team.id)[:RELEASED_SHOWN],
    }
    return console_page(request, "console/retention.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def retention_edit(request: TeamRequest) -> HttpResponseBase:
    """Set the retention period."""
    require(request, Permission.MANAGE_TEAM)
    status = retention_status(request.team.id)
    form = RetentionForm(posted(request), status.days, _site_words(status))
    if form.is_valid():
        changed = try_change(
            form,
            lambda: retention_set(
                team=request.team, actor=request.actor, **form.cleaned_data
            ),
        )
        if changed:
            messages.success(request, gettext("The retention period is saved."))
            return redirect("console:retention")
    context = {
        "title": gettext("Retention period"),
        "lead": _period_lead(status),
        "form": form,
        "label": gettext("Save period"),
        "back": reverse("console:retention"),
    }
    return console_page(request, "console/form.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def idle_rule_edit(request: TeamRequest) -> HttpResponseBase:
    """Say which unused conversations are deleted, once their number was seen."""
    require(request, Permission.MANAGE_TEAM)
    rule = retention_status(request.team.id).idle
    initial = {"days": rule.days, "keeps_pinned": rule.keeps_pinned}
    form = IdleForm(posted(request), initial=initial)
    count: int | None = None
    if form.is_valid():
        wanted = {name: form.cleaned_data[name] for name in initial}
        if form.must_be_counted:
            count = idle_count(request.team.id, **wanted)
            form.note_counted()
        elif try_change(form, lambda: _idle_rule_save(request, wanted)):
            messages.success(request, gettext("The rule for conversations is saved."))
            return redirect("console:retention")
    context = {
        "form": form,
        "count": count,
        "grace_days": GRACE.days,
        "back": reverse("console:retention"),
    }
    return console_page(request, "console/idle_rule.html", context, tab=TAB)


def _idle_rule_save(request: TeamRequest, wanted: dict[str, Any]) -> Retention:
    return idle_rule_set(team=request.team, actor=request.actor, **wanted)


@require_http_methods(["GET", "POST"])
@team_view
def hold_new(request: TeamRequest) -> HttpResponseBase:
    """Place a legal hold; a link fills in the run."""
    require(request, Permission.MANAGE_HOLDS)
    initial = {"run_id": request.GET.get("run", "")}
    form = HoldForm(posted(request), initial=initial)
    if form.is_valid():
        placed = try_change(
            form,
            lambda: hold_place(
                team=request.team,
                run_id=form.wanted_run,
                reason=form.cleaned_data["reason"],
                actor=request.actor,
            ),
        )
        if placed:
            messages.success(request, gettext("The legal hold is placed."))
            return redirect("console:retention")
    context = {
        "title": gettext("Place a legal hold"),
        "lead": gettext(
            "While the hold is in place, prompts and answers are not erased, however "
            "old, and the team cannot be deleted. Content erased before does not come "
            "back."
        ),
        "form": form,
        "label": gettext("Place hold"),
        "back": reverse("console:retention"),
    }
    return console_page(request, "console/form.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def hold_release_page(request: TeamRequest, hold_id: uuid.UUID) -> HttpResponseBase:
    """Release a legal hold, after asking."""
    require(request, Permission.MANAGE_HOLDS)
    hold = access_hold(request.team.id, hold_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: hold_release(hold=hold, actor=request.actor),
            gettext("The legal hold is released."),
            "console:retention",
        )
    context = {
        "title": gettext("Release this legal hold?"),
        "points": [
            gettext("It was placed by {name}: “{reason}”").format(
                name=hold.placed_by, reason=hold.reason
            ),
            gettext("It covers the run {id}.").format(id=hold.run_id)
            if hold.run_id
            else gettext("It covers everything in the team."),
            gettext(
                "What is older than the retention period is erased within the hour, "
                "unless another hold keeps it."
            ),
            gettext("Erased content cannot be restored."),
        ],
        "label": gettext("Release"),
        "back": reverse("console:retention"),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _site_words(status: RetentionStatus) -> str:
    if status.site_days is None:
        return gettext("No retention limit")
    words = gettext("The site's period applies: {number} days")
    return words.format(number=status.site_days)


def _period_lead(status: RetentionStatus) -> str:
    erased = gettext(
        "Prompts, answers and what models were sent are erased when they are older "
        "than this."
    )
    if status.site_days is None:
        empty = gettext("Left empty, no retention limit.")
    else:
        words = gettext("Left empty, the site's period applies: {number} days.")
        empty = words.format(number=status.site_days)
    grace = gettext(
        "What was erased cannot be brought back, so after a shorter period is set "
        "nothing is erased for {number} days."
    )
    return f"{erased} {empty} {grace.format(number=GRACE.days)}"
