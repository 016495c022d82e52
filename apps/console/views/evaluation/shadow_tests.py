"""Shadow tests: start one, watch it, read its pairs, promote its candidate."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.accounts.selectors import api_key_list, member_list
from apps.console.evaluations.shadow_rows import pair_rows, report_context, shadow_row
from apps.console.forms.shadow_tests import ShadowTestForm
from apps.console.layout import (
    console_page,
    posted,
    require,
    try_change,
)
from apps.console.views.evaluation.candidates import (
    TAB,
    candidate_change,
    conductor_names,
    usable_pools,
)
from apps.evaluation.models import ShadowTest
from apps.evaluation.promotions.promotion import (
    candidate_demote,
    why_not_demotable,
    why_not_promotable,
)
from apps.evaluation.shadow.report import shadow_report
from apps.evaluation.shadow.selectors import (
    FEWEST_PAIRS,
    access_shadow,
    pairs_missing,
)
from apps.evaluation.shadow.services import (
    shadow_promote,
    shadow_start,
    shadow_stop,
)
from apps.web.team_access import TeamRequest, team_view

PAIRS_SHOWN = 100
PAGE = "console:shadow_test"


@require_http_methods(["GET", "POST"])
@team_view
def shadow_new(request: TeamRequest) -> HttpResponseBase:
    """Start a shadow test."""
    require(request, Permission.MANAGE_POOLS)
    team_id = request.team.id
    pools = usable_pools(team_id)
    if not pools:
        messages.info(request, _("A shadow test needs a pool first."))
        return redirect("console:pool_list")
    form = ShadowTestForm(
        posted(request),
        pools=pools,
        conductors=conductor_names(team_id),
        members=[
            (each.user_id, each.user.get_full_name()) for each in member_list(team_id)
        ],
        keys=[(key.id, key.name) for key in api_key_list(team_id)],
    )
    if form.is_bound and form.is_valid():
        made = try_change(
            form,
            lambda: shadow_start(
                team=request.team,
                values=form.values(),
                principal=request.principal,
                actor=request.actor,
            ),
        )
        if made is not None:
            return redirect(PAGE, made.id)
    return console_page(
        request,
        "console/shadow_test_new.html",
        {"form": form},
        tab=TAB,
        status=400 if form.errors else 200,
    )


@require_GET
@team_view
def shadow_page(request: TeamRequest, test_id: UUID) -> HttpResponseBase:
    """Show the figures of a test and its newest pairs."""
    require(request, Permission.READ_RUNS)
    test = access_shadow(team_id=request.team.id, test_id=test_id)
    report = shadow_report(test)
    row = shadow_row(test, report.mirrored)
    context = {
        "row": row,
        "test": test,
        **report_context(row, report),
        "pairs": pair_rows(test, PAIRS_SHOWN),
        "most": PAIRS_SHOWN,
        "why_not": why_not_promotable(test) or why_not_demotable(test),
        "too_few": "" if test.replaced else too_few_pairs(test),
    }
    return console_page(request, "console/shadow_test.html", context, tab=TAB)


@require_POST
@team_view
def shadow_stop_action(request: TeamRequest, test_id: UUID) -> HttpResponseBase:
    """Stop a test."""
    require(request, Permission.MANAGE_POOLS)
    test = access_shadow(team_id=request.team.id, test_id=test_id)
    shadow_stop(test=test, actor=request.actor)
    return redirect(PAGE, test.id)


@require_http_methods(["GET", "POST"])
@team_view
def shadow_promote_page(request: TeamRequest, test_id: UUID) -> HttpResponseBase:
    """Let the tier become the candidate, after asking."""
    test = access_shadow(team_id=request.team.id, test_id=test_id)
    row = shadow_row(test, 0)
    return candidate_change(
        request,
        test,
        shadow_promote,
        obstacle=too_few_pairs(test),
        back=reverse(PAGE, args=[test.id]),
        title=_("Let “{candidate}” answer for “{original}”?").format(**row.names),
        done=_("{original} is {candidate} from the next run on.").format(**row.names),
        label=_("Promote"),
    )


def too_few_pairs(test: ShadowTest) -> str:
    """Say how many pairs a promotion still takes; empty: there are enough."""
    missing = pairs_missing(test)
    if not missing:
        return ""
    return ngettext(
        "A promotion takes %(needed)d pairs with both answers: %(missing)d is missing.",
        "A promotion takes %(needed)d pairs with both answers: %(missing)d are "
        "missing.",
        missing,
    ) % {"needed": FEWEST_PAIRS, "missing": missing}


@require_http_methods(["GET", "POST"])
@team_view
def shadow_demote_page(request: TeamRequest, test_id: UUID) -> HttpResponseBase:
    """Let the tier become again what it was, after asking."""
    test = access_shadow(team_id=request.team.id, test_id=test_id)
    row = shadow_row(test, 0)
    return candidate_change(
        request,
        test,
        candidate_demote,
        back=reverse(PAGE, args=[test.id]),
        title=_("Take “{candidate}” back from “{original}”?").format(**row.names),
        done=_("{original} is again what it was before.").format(**row.names),
        label=_("Take back"),
    )
