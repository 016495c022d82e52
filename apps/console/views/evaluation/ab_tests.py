"""A/B tests: start one, watch both arms, promote the candidate, stop."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.console.evaluations.ab_rows import ab_row, arm_rows, difference_rows
from apps.console.forms.ab_tests import ABTestForm
from apps.console.layout import console_page, posted, require, try_change
from apps.console.views.evaluation.candidates import (
    TAB,
    candidate_change,
    conductor_names,
    usable_pools,
)
from apps.evaluation.ab.report import ab_report
from apps.evaluation.ab.selectors import access_ab_test, runs_of
from apps.evaluation.ab.services import ab_promote, ab_start, ab_stop
from apps.evaluation.promotions.promotion import (
    candidate_demote,
    why_not_demotable,
    why_not_promotable,
)
from apps.web.team_access import TeamRequest, team_view

PAGE = "console:ab_test"
RUNS_SHOWN = 50


@require_http_methods(["GET", "POST"])
@team_view
def ab_new(request: TeamRequest) -> HttpResponseBase:
    """Start an A/B test."""
    require(request, Permission.MANAGE_POOLS)
    pools = usable_pools(request.team.id)
    if not pools:
        messages.info(request, _("An A/B test needs a pool first."))
        return redirect("console:pool_list")
    form = ABTestForm(
        posted(request), pools=pools, conductors=conductor_names(request.team.id)
    )
    if form.is_bound and form.is_valid():
        made = try_change(
            form,
            lambda: ab_start(
                team=request.team, values=form.values(), principal=request.principal
            ),
        )
        if made is not None:
            return redirect(PAGE, made.id)
    status = 400 if form.errors else 200
    return console_page(
        request, "console/ab_test_new.html", {"form": form}, tab=TAB, status=status
    )


@require_GET
@team_view
def ab_page(request: TeamRequest, ab_test_id: UUID) -> HttpResponseBase:
    """Show the figures of both arms and the newest runs."""
    require(request, Permission.READ_RUNS)
    test = access_ab_test(team_id=request.team.id, test_id=ab_test_id)
    row, report = ab_row(test), ab_report(test)
    context = {
        "row": row,
        "test": test,
        "report": report,
        "arms": arm_rows(row, report),
        "differences": difference_rows(report),
        "runs": runs_of(test)[:RUNS_SHOWN],
        "most": RUNS_SHOWN,
        "why_not": why_not_promotable(test) or why_not_demotable(test),
    }
    return console_page(request, "console/ab_test.html", context, tab=TAB)


@require_POST
@team_view
def ab_stop_action(request: TeamRequest, ab_test_id: UUID) -> HttpResponseBase:
    """Stop a test."""
    require(request, Permission.MANAGE_POOLS)
    test = access_ab_test(team_id=request.team.id, test_id=ab_test_id)
    ab_stop(test=test, actor=request.actor)
    return redirect(PAGE, test.id)


@require_http_methods(["GET", "POST"])
@team_view
def ab_promote_page(request: TeamRequest, ab_test_id: UUID) -> HttpResponseBase:
    """Let the tier become the candidate for all, after asking."""
    test = access_ab_test(team_id=request.team.id, test_id=ab_test_id)
    row = ab_row(test)
    return candidate_change(
        request,
        test,
        ab_promote,
        back=reverse(PAGE, args=[test.id]),
        title=_("Let “{candidate}” answer all of “{original}”?").format(**row.names),
        done=_("{original} is {candidate} from the next run on.").format(**row.names),
        label=_("Promote"),
    )


@require_http_methods(["GET", "POST"])
@team_view
def ab_demote_page(request: TeamRequest, ab_test_id: UUID) -> HttpResponseBase:
    """Let the tier become again what it was, after asking."""
    test = access_ab_test(team_id=request.team.id, test_id=ab_test_id)
    row = ab_row(test)
    return candidate_change(
        request,
        test,
        candidate_demote,
        back=reverse(PAGE, args=[test.id]),
        title=_("Take “{candidate}” back from “{original}”?").format(**row.names),
        done=_("{original} is again what it was before.").format(**row.names),
        label=_("Take back"),
    )
