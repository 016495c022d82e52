"""Pages of the review queue: the queue with its figures, one review, its changes."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.accounts.rights import ASK_REVIEW, MANAGE_EVALUATIONS, REVIEW_RUNS
from apps.accounts.selectors import role_allows
from apps.core.errors import (
    ConductorError,
    Conflict,
    InvalidFields,
    InvalidInput,
    NotAllowed,
)
from apps.evaluation.suites.reviewed import suite_add_reviewed
from apps.governance.models import ReviewItem, ReviewReason
from apps.governance.reviews.reads import (
    FILTERS,
    access_review,
    comments_given,
    next_review,
    review_figures,
    review_items,
    review_obstacle,
    review_rules,
    reviews_given,
)
from apps.governance.selectors import feedback_list
from apps.governance.services import (
    ANSWER_LENGTH,
    TEXT_LENGTH,
    review_comment,
    review_judge,
    review_release,
    review_request,
    review_requeue,
    review_reserve,
)
from apps.playground.entries import entry_rows
from apps.playground.review_page import (
    Filter,
    chosen_exchange,
    exchanges_of,
    questions_of,
    queue_rows,
    scores_of,
)
from apps.playground.review_tasks_text import (
    SUITE,
    VERIFIERS,
    added_text,
    skipped_text,
)
from apps.playground.run_page import compose
from apps.runs.selectors import access_run, events_in, run_entries
from apps.web.formats import sentence
from apps.web.middleware import wants_json
from apps.web.team_access import TeamRequest, page, refusal_show, team_view

PAGE_NUMBER = re.compile("[1-9][0-9]{0,4}")
OBSTACLES = (
    _("This run has been reviewed; queue it again to change that."),
    _("This run is your own, so somebody else must review it."),
    _("You were the first reviewer; the second is somebody else."),
)
"""Why a review cannot be reserved, as `review_obstacle` says it in English."""


@require_GET
@team_view
def review_list(request: TeamRequest) -> HttpResponseBase:
    """List the queue, with the figures of the team."""
    request.principal.require(REVIEW_RUNS)
    return _list(request, {"name": SUITE, "verifier": "model_graded"})


@require_POST
@team_view
def review_tasks(request: TeamRequest) -> HttpResponseBase:
    """Add the runs that verdicts made tasks to a suite, and say what became of them."""
    for right in (MANAGE_EVALUATIONS, REVIEW_RUNS):
        request.principal.require(right)
    given = request.POST.dict()
    values = {"verifier": given.get("verifier", ""), "rubric": given.get("rubric", "")}
    if given.get("family"):
        values["family"] = given["family"]
    try:
        added = suite_add_reviewed(
            team=request.team,
            name=given.get("name", ""),
            values=values,
            actor=request.actor,
        )
    except InvalidInput as error:
        refusal_show(request, error)
        return _list(request, given, status=400)
    messages.success(request, added_text(added))
    if added.skipped:
        messages.warning(request, skipped_text(added.skipped))
    return redirect(f"{reverse('playground:review_list')}?state=tasks")


def _list(
    request: TeamRequest, given: dict[str, str], status: int = 200
) -> HttpResponse:
    """Show the queue; `given` is in the form that makes a suite of its tasks."""
    figures = review_figures(request.team.id)
    rules = review_rules(request.team.id)
    context = {
        **_queue(request, None),
        "figures": figures,
        "next": next_review(request.team.id, request.user.id),
        "has_rules": rules.is_watching or rules.thumbs_down,
        "may_set": role_allows(request.membership.role, Permission.MANAGE_POLICY),
        "may_add": role_allows(request.membership.role, Permission.MANAGE_POOLS),
        "given": given,
        "verifiers": VERIFIERS,
    }
    return page(request, "playground/review_list.html", context, status=status)


@require_GET
@team_view
def review_page(request: TeamRequest, review_id: uuid.UUID) -> HttpResponseBase:
    """Show a run for its review: the queue, the run, its calls and the rubric."""
    request.principal.require(REVIEW_RUNS)
    return _page(request, access_review(request.team.id, review_id))


@require_POST
@team_view
def review_reservation(request: TeamRequest, review_id: uuid.UUID) -> HttpResponseBase:
    """Reserve a review, or with `release` in the body leave it to others."""
    request.principal.require(REVIEW_RUNS)
    item = access_review(request.team.id, review_id)
    if "release" in request.POST:
        return _changed(
            request,
            item,
            lambda: review_release(item=item, principal=request.principal),
            gettext("The review is free for others."),
        )
    if wants_json(request):  # the page renews it while it is open
        review_reserve(item=item, principal=request.principal)
        return HttpResponse(status=204)
    return _changed(
        request, item, lambda: review_reserve(item=item, principal=request.principal)
    )


@require_POST
@team_view
def review_verdict(request: TeamRequest, review_id: uuid.UUID) -> HttpResponseBase:
    """Record a verdict, then go on to the next run that waits."""
    request.principal.require(REVIEW_RUNS)
    item = access_review(request.team.id, review_id)
    given = request.POST.dict()
    try:
        review = review_judge(
            item=item,
            principal=request.principal,
            verdict=given.get("verdict", ""),
            scores=scores_of(review_rules(request.team.id), given),
            reason=given.get("reason", ""),
            right_answer=given.get("right_answer", ""),
            is_task="is_task" in given,
        )
    except InvalidFields as error:
        return _page(request, item, given, _faults(error), status=400)
    except (Conflict, NotAllowed) as error:
        refusal_show(request, error)
        return _back(request, item)
    verdict = gettext(review.get_verdict_display())
    done = gettext("Recorded: {verdict}.").format(verdict=verdict)
    following = next_review(request.team.id, request.user.id)
    if following is None:
        messages.success(
            request, " ".join((done, gettext("Nothing else waits for you.")))
        )
        return redirect("playground:review_list")
    messages.success(request, " ".join((done, gettext("This is the next run."))))
    return _back(request, following)


@require_POST
@team_view
def review_again(request: TeamRequest, review_id: uuid.UUID) -> HttpResponseBase:
    """Queue a reviewed run again."""
    request.principal.require(REVIEW_RUNS)
    item = access_review(request.team.id, review_id)
    reason = request.POST.get("reason", "")
    return _changed(
        request,
        item,
        lambda: review_requeue(item=item, principal=request.principal, reason=reason),
        gettext("The run is in the queue again."),
    )


@require_POST
@team_view
def review_remark(request: TeamRequest, review_id: uuid.UUID) -> HttpResponseBase:
    """Comment on a review."""
    request.principal.require(REVIEW_RUNS)
    item = access_review(request.team.id, review_id)
    text = request.POST.get("text", "")
    return _changed(
        request,
        item,
        lambda: review_comment(item=item, principal=request.principal, text=text),
        gettext("Your comment is recorded."),
    )


@require_POST
@team_view
def run_review(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Send a run to review."""
    request.principal.require(ASK_REVIEW)
    run = access_run(team_id=request.team.id, run_id=run_id)
    try:
        review_request(run=run, principal=request.principal)
    except Conflict as error:
        refusal_show(request, error)
    else:
        messages.success(request, gettext("The run is in the review queue."))
    return redirect("playground:run_detail", run.id)


def _page(
    request: TeamRequest,
    item: ReviewItem,
    given: dict[str, str] | None = None,
    faults: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    now, run = timezone.now(), item.run
    entries = run_entries(run)
    body = compose(run.id, events_in(entries), now)
    exchanges = exchanges_of(run.id, body.story)
    rules = review_rules(request.team.id)
    obstacle = review_obstacle(item, request.user.id, now)
    call = request.GET.get("call", "")
    context = {
        **_queue(request, item),
        "item": item,
        "run": run,
        "body": body,
        "entries": entry_rows(request.team.id, entries),
        "feedback": feedback_list(request.team.id, run.id),
        "exchanges": exchanges,
        "call": chosen_exchange(exchanges, call, body.story),
        "obstacle": _obstacle_words(item, obstacle) if obstacle else "",
        "is_mine": not obstacle and item.is_held_by(request.user.id, now),
        "questions": questions_of(rules, given or {}),
        "reason": (given or {}).get("reason", ""),
        "right_answer": (given or {}).get("right_answer", ""),
        "is_task": "is_task" in (given or {}),
        "answer_length": ANSWER_LENGTH,
        "faults": faults or {},
        "text_length": TEXT_LENGTH,
        "reviews": reviews_given(item),
        "comments": comments_given(item),
    }
    return page(request, "playground/review.html", context, status=status)


def _queue(request: TeamRequest, chosen: ReviewItem | None) -> dict[str, Any]:
    """Return the part of the queue that the address names."""
    wanted, now = _filter(request), timezone.now()
    rows = review_items(
        request.team.id,
        state=wanted.state or "waiting",
        reason=wanted.reason,
        user_id=request.user.id,
        now=now,
    )
    found = list(rows[wanted.start : wanted.start + wanted.size + 1])
    return {
        "section": "review",
        "rows": queue_rows(found[: wanted.size], chosen, now),
        "has_more": len(found) > wanted.size,
        "listed": wanted.size,
        "filter": wanted,
        "states": (
            ("", _("Waiting")),
            ("mine", _("Mine")),
            ("reviewed", _("Reviewed")),
            ("tasks", _("Tasks")),
            ("all", _("All")),
        ),
        "all_reasons": ReviewReason.choices,
    }


def _filter(request: TeamRequest) -> Filter:
    state = request.GET.get("state", "")
    reason = request.GET.get("reason", "")
    number = request.GET.get("page", "")
    return Filter(
        state if state in FILTERS[1:] else "",
        reason if reason in ReviewReason.values else "",
        int(number) if PAGE_NUMBER.fullmatch(number) else 1,
    )


def _changed(
    request: TeamRequest,
    item: ReviewItem,
    change: Callable[[], object],
    done: str = "",
) -> HttpResponse:
    """Make a change, say what came of it and show the review."""
    try:
        change()
    except InvalidFields as error:
        messages.error(request, " ".join(_faults(error).values()))
    except (Conflict, NotAllowed) as error:
        refusal_show(request, error)
    else:
        if done:
            messages.success(request, done)
    return _back(request, item)


def _back(request: TeamRequest, item: ReviewItem) -> HttpResponse:
    query = _filter(request).query
    address = reverse("playground:review", args=[item.id])
    return redirect(f"{address}?{query}" if query else address)


def _faults(error: InvalidFields) -> dict[str, str]:
    return {name: sentence(each[0]) for name, each in error.fields.items()}


def _obstacle_words(item: ReviewItem, obstacle: ConductorError) -> str:
    """Return why a review cannot be reserved, in the language of the page."""
    said = sentence(obstacle.message)
    if said in OBSTACLES or item.reserved_until is None:
        return gettext(said)
    words = gettext("%(name)s has reserved this review until %(time)s UTC.")
    end = f"{item.reserved_until:%H:%M}"
    return sentence(words % {"name": item.reserved_name, "time": end})
