"""The pages of comparisons: the list, a new one, one with its columns and its vote."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.rights import RATE, RUN
from apps.budgets.rate_limits import Admission
from apps.comparisons.models import MOST_ANSWERS, REASON_LENGTH, Comparison, VoteChoice
from apps.comparisons.selectors import (
    access_comparison,
    candidate_votes,
    comparison_list,
    comparison_of_runs,
    comparison_view,
    comparison_views,
    judge_list,
)
from apps.comparisons.services import (
    comparison_cancel,
    comparison_create,
    judgement_ask,
    judgement_settle,
    vote_give,
)
from apps.core.errors import ConductorError, NotFound
from apps.evaluation.reports.headline import headline
from apps.playground.choices import pool_choices
from apps.playground.comparing.candidates import (
    Estimating,
    candidate_groups,
    usual_candidates,
)
from apps.playground.comparing.list_rows import candidate_rows, comparison_rows
from apps.playground.comparing.requests import (
    CandidatesForm,
    ComparedRequest,
    compared_request,
    estimating,
    orders_of,
    prompt_shown,
)
from apps.playground.comparing.sheet import (
    ComparisonSheet,
    comparison_sheet,
    pair_sheet,
)
from apps.playground.feedback_view import feedback_change
from apps.playground.forms import first_fault
from apps.playground.views import known_places
from apps.runs.admission import run_admit
from apps.runs.planning.direct_choices import DirectChoice
from apps.runs.selectors import access_run
from apps.web.formats import sentence
from apps.web.team_access import TeamRequest, page, refusal_show, team_view

SHOWN = 25
"""Comparisons on one page of the list."""


@require_GET
@team_view
def comparison_index(request: TeamRequest) -> HttpResponseBase:
    """List the team's comparisons, and the results by candidate."""
    paginator = Paginator(comparison_list(request.team.id), SHOWN)
    listed = paginator.get_page(request.GET.get("page"))
    views = comparison_views(list(listed.object_list), request.actor)
    context = {
        "section": "comparisons",
        "pager": listed,
        "rows": comparison_rows(views),
        "candidates": candidate_rows(candidate_votes(request.team.id, request.actor)),
    }
    return page(request, "playground/comparison_list.html", context)


@require_http_methods(["GET", "POST"])
@team_view
def comparison_new(request: TeamRequest) -> HttpResponseBase:
    """Show a prompt, the candidates and what each may cost, before anything starts.

    The prompt is that of a recorded run, `of`, or comes from the composer by POST.
    """
    request.principal.require(RUN)
    return _new_page(request, compared_request(request))


@require_POST
@team_view
def comparison_start(request: TeamRequest) -> HttpResponseBase:
    """Start a run for each candidate, and show their answers side by side."""
    request.principal.require(RUN)
    asked = compared_request(request)
    pools = pool_choices(request.team.id)
    form = CandidatesForm(request.POST, pools)
    if not form.is_valid():
        return _new_page(request, asked, fault=first_fault(form)[1])
    chosen = form.cleaned_data
    try:
        comparison = comparison_create(
            team_id=request.team.id,
            actor=request.actor,
            orders=orders_of(request, asked, chosen["candidate"], pools),
            kept=(asked.run,) if asked.run and chosen["keep"] else (),
            is_blind=chosen["is_blind"],
        )
    except ConductorError as error:
        said, status = sentence(error.message), error.http_status
        return _new_page(request, asked, fault=said, status=status)
    return redirect("playground:comparison", comparison.id)


@require_GET
@team_view
def comparison_page(request: TeamRequest, comparison_id: uuid.UUID) -> HttpResponseBase:
    """Show the answers side by side."""
    comparison = _access(request, comparison_id)
    sheet = _sheet(request, comparison)
    context = {
        "section": "comparisons",
        "sheet": sheet,
        "comparison": comparison,
        "known": frozenset[int](),
        "judges": _judges(comparison, sheet),
        "reason_length": REASON_LENGTH,
    }
    return page(request, "playground/comparison.html", context)


@require_GET
@team_view
def comparison_body(request: TeamRequest, comparison_id: uuid.UUID) -> HttpResponseBase:
    """Return the columns as of now.

    Of a column whose newest entry the page knows, only what moves with the time.
    """
    comparison = _access(request, comparison_id)
    sheet = _sheet(request, comparison)
    context = {
        "sheet": sheet,
        "comparison": comparison,
        "known": known_places(request) if sheet.is_revealed else frozenset[int](),
        "judges": _judges(comparison, sheet),
        "reason_length": REASON_LENGTH,
    }
    response = page(request, "playground/_comparison.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@team_view
def comparison_vote(request: TeamRequest, comparison_id: uuid.UUID) -> HttpResponseBase:
    """Vote, which reveals what made the answers; a later vote replaces the first."""
    request.principal.require(RATE)
    comparison = _access(request, comparison_id)
    choice, _, letter = request.POST.get("choice", "").partition("-")
    if choice not in VoteChoice.values:
        messages.error(
            request,
            gettext("Choose first: which answer is better, a tie, or none is good."),
        )
        return redirect("playground:comparison", comparison.id)
    try:
        vote_give(
            comparison=comparison,
            actor=request.actor,
            choice=choice,
            letter=letter or None,
            reason=request.POST.get("reason", ""),
        )
        messages.success(request, gettext("Your vote is on record."))
    except ConductorError as error:
        refusal_show(request, error)
    return redirect("playground:comparison", comparison.id)


@require_POST
@team_view
def comparison_judge(
    request: TeamRequest, comparison_id: uuid.UUID
) -> HttpResponseBase:
    """Ask a worker which answer is better."""
    request.principal.require(RUN)
    comparison = _access(request, comparison_id)
    try:
        judgement_ask(
            comparison=comparison,
            principal=request.principal,
            admit=lambda model, prompt: _admitted(request, model, prompt),
            model=request.POST.get("judge", ""),
        )
    except ConductorError as error:
        refusal_show(request, error)
    return redirect("playground:comparison", comparison.id)


@require_POST
@team_view
def comparison_stop(request: TeamRequest, comparison_id: uuid.UUID) -> HttpResponseBase:
    """Stop the answers that are in progress."""
    request.principal.require(RUN)
    comparison = _access(request, comparison_id)
    comparison_cancel(comparison=comparison, actor=request.actor)
    return redirect("playground:comparison", comparison.id)


@require_POST
@team_view
def answer_feedback(
    request: TeamRequest, comparison_id: uuid.UUID, letter: str
) -> HttpResponseBase:
    """Rate one of the answers, by its column: its run may be hidden."""
    request.principal.require(RATE)
    comparison = _access(request, comparison_id)
    answers = {each.letter: each for each in comparison.answers.all()}
    if letter not in answers:
        raise NotFound(f"the comparison has no answer {letter!r}")
    run = access_run(team_id=request.team.id, run_id=answers[letter].run_id)
    feedback_change(request, run)
    return redirect("playground:comparison", comparison.id)


@require_GET
@team_view
def pair_page(
    request: TeamRequest, left: uuid.UUID, right: uuid.UUID
) -> HttpResponseBase:
    """Show two runs side by side: their comparison, or the offer to keep one."""
    if found := comparison_of_runs(request.team.id, (left, right)):
        return redirect("playground:comparison", found.id)
    sheet = pair_sheet(
        access_run(team_id=request.team.id, run_id=left),
        access_run(team_id=request.team.id, run_id=right),
        request.actor,
        timezone.now(),
        base=request.GET.get("differences", ""),
    )
    context = {
        "section": "comparisons",
        "sheet": sheet,
        "known": frozenset[int](),
        "left": left,
        "right": right,
    }
    return page(request, "playground/comparison.html", context)


@require_POST
@team_view
def pair_keep(
    request: TeamRequest, left: uuid.UUID, right: uuid.UUID
) -> HttpResponseBase:
    """Keep two runs as a comparison, to vote on it."""
    request.principal.require(RUN)
    runs = [access_run(team_id=request.team.id, run_id=each) for each in (left, right)]
    made = comparison_create(team_id=request.team.id, actor=request.actor, kept=runs)
    return redirect("playground:comparison", made.id)


def _access(request: TeamRequest, comparison_id: uuid.UUID) -> Comparison:
    return access_comparison(team_id=request.team.id, comparison_id=comparison_id)


def _sheet(request: TeamRequest, comparison: Comparison) -> ComparisonSheet:
    judgement_settle(comparison)
    view = comparison_view(comparison, request.actor)
    base = request.GET.get("differences", "")
    return comparison_sheet(view, request.actor, timezone.now(), base=base)


def _judges(comparison: Comparison, sheet: ComparisonSheet) -> list[DirectChoice]:
    """Return who can judge; nobody while the page has no form to ask one."""
    return judge_list(comparison) if sheet.is_revealed and sheet.is_over else []


def _new_page(
    request: TeamRequest, asked: ComparedRequest, *, fault: str = "", status: int = 400
) -> HttpResponseBase:
    pools = pool_choices(request.team.id)
    estimate: Estimating | None = None
    hint, prompt = "", asked.prompt
    if asked.prompt:
        try:
            prompt = prompt_shown(request, asked)
            estimate = estimating(request, asked, pools)
        except ConductorError as error:
            hint = sentence(error.message)
    groups = candidate_groups(pools, estimate)
    chosen = request.POST.getlist("candidate")
    is_first = not (fault or chosen)
    kept = asked.run if asked.run and asked.run.is_over else None
    measured = headline(request.team.id)
    usual = usual_candidates(
        groups, kept.model if kept else "", measured.worker if measured else ""
    )
    context: dict[str, Any] = {
        "section": "comparisons",
        "asked": asked,
        "prompt": prompt,
        "kept": kept,
        "groups": groups,
        "chosen": usual if is_first else chosen,
        "is_blind": not kept if is_first else "is_blind" in request.POST,
        "keep": bool(kept) if is_first else "keep" in request.POST,
        "fault": fault or hint,
        "most": MOST_ANSWERS,
    }
    code = status if fault else 200
    return page(request, "playground/comparison_new.html", context, code)


def _admitted(request: TeamRequest, model: str, prompt: str) -> Admission:
    admission = run_admit(request.principal, model, prompt)
    admission.require()
    return admission
