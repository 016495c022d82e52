"""The pages: playground, list of runs, one run. Parse, check access, ask, answer.

Pages of a part of a run are in `part_views`.
"""

from __future__ import annotations

import re
import uuid

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.accounts.rights import RUN
from apps.accounts.selectors import require_permission, role_allows
from apps.audit.browsing.run_checks import run_check
from apps.audit.browsing.search import EntryFilter
from apps.audit.bundles.export import (
    BUNDLE_TYPE,
    bundle_create,
    bundle_is_long,
)
from apps.audit.exports.jobs import export_request
from apps.audit.models import ExportFormat
from apps.audit.rows import verify_rows
from apps.budgets.rate_limits import Admission
from apps.comparisons.selectors import comparisons_of_run
from apps.conversations.selectors import conversation_id_of_run
from apps.core.errors import InvalidInput, NotFound
from apps.governance.reviews.reads import review_of_run
from apps.governance.selectors import (
    feedback_list,
    holds_of_run,
)
from apps.playground.composing.presets import preset_of_run
from apps.playground.entries import entry_lines, entry_rows
from apps.playground.part_views import part_or_page
from apps.playground.run_page import compose, failed_worker, pace_of, with_approvers
from apps.playground.sharing.views import may_share
from apps.playground.verification_text import verification_text
from apps.pools.models import TierName
from apps.runs.admission import run_admit
from apps.runs.selectors import (
    access_run,
    events_in,
    labels_of,
    run_entries,
    run_record,
)
from apps.runs.services import run_cancel, run_rerun
from apps.web.middleware import wants_json
from apps.web.run_addresses import requester_query
from apps.web.team_access import (
    TeamRequest,
    choose_team,
    page,
    team_view,
)

LONG_RECORD = gettext_noop(
    "This record is long, so its export is made in the background. "
    "Download it here once it is complete."
)
_PLACE = re.compile("[0-9]{1,18}")
TIERS = frozenset(TierName.values)
"""What is shown to a team without a pool."""


@require_http_methods(["GET", "POST"])
@team_view
def team_select(request: TeamRequest) -> HttpResponseBase:
    """Work for another one of one's teams; without a choice, show the team."""
    if request.method == "GET":
        return redirect("console:team")
    try:
        team_id = uuid.UUID(request.POST.get("team", ""))
    except ValueError as exc:
        raise InvalidInput("expected the id of a team", param="team") from exc
    if not choose_team(request, team_id):
        raise NotFound("there is no such team")
    return redirect("playground:index")


@require_GET
@team_view
def run_detail(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Show one run with every ledger entry."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    entries = run_entries(run)
    composed = compose(run.id, events_in(entries), timezone.now())
    body = with_approvers(request.team.id, composed)
    feedback = feedback_list(request.team.id, run.id)
    own = (each for each in feedback if each.actor_id == request.actor.id)
    context = {
        "section": "runs",
        "run": run,
        "body": body,
        "feedback": feedback,
        "own_feedback": next(own, None),
        "used": preset_of_run(request, body.story),
        "may_rate": body.story.is_over,
        "pace": pace_of(run),
        "failed_worker": failed_worker(request.team.id, body),
        "is_detail": True,
        "entries": entry_rows(request.team.id, entries),
        "holds": holds_of_run(request.team.id, run.id),
        "requester_query": requester_query(run),
        "conversation_id": conversation_id_of_run(request.team.id, run.id),
        "labels": labels_of(request.team.id, [run.id])[run.id],
        "may_hold": role_allows(request.membership.role, Permission.MANAGE_HOLDS),
        "review": review_of_run(request.team.id, run.id),
        "comparisons": comparisons_of_run(request.team.id, run.id),
        "may_export": role_allows(request.membership.role, Permission.EXPORT_RUNS),
        "may_share": body.story.is_over and may_share(request),
    }
    return page(request, "playground/run_detail.html", context)


@require_GET
@team_view
def run_body(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Return the changing part of a run's page, as of now.

    If the page knows the newest entry, which it names, only what moves with the time.
    """
    run = access_run(team_id=request.team.id, run_id=run_id)
    is_detail = request.GET.get("view") == "detail"
    entries = run_entries(run)
    composed = compose(run.id, events_in(entries), timezone.now())
    body = with_approvers(request.team.id, composed)
    is_known = body.story.last_seq in known_places(request)
    with_entries = is_detail and not is_known
    context = {
        "body": body,
        "is_known": is_known,
        "pace": None if is_known else pace_of(run),
        "failed_worker": failed_worker(request.team.id, body),
        "is_detail": is_detail,
        "entries": entry_rows(request.team.id, entries) if with_entries else None,
    }
    response = page(request, "playground/_run_body.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@team_view
def run_cancel_view(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Stop a run."""
    request.principal.require(RUN)
    run = access_run(team_id=request.team.id, run_id=run_id)
    is_stopped = run_cancel(
        run_id=run.id,
        team_id=request.team.id,
        actor=request.actor,
        reason=f"stopped by {request.actor.display}",
    )
    if wants_json(request):
        return JsonResponse({"is_stopped": is_stopped})
    return redirect("playground:run_detail", run.id)


@require_POST
@team_view
def run_rerun_view(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Ask the same again, with all that came with the prompt."""
    request.principal.require(RUN)
    run = access_run(team_id=request.team.id, run_id=run_id)
    prompt = run_record(request.team.id, run.id).prompt
    admission = _admit(request, run.model, prompt)
    new_id = run_rerun(run, request.principal, admission)
    return redirect("playground:run_detail", new_id)


@require_POST
@team_view
def run_verify(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Re-derive the run's part of the chain and say what was found; record faults."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    context = {
        "section": "runs",
        "run": run,
        "verdict": verification_text(
            run_check(team_id=run.team_id, run_id=run.id, actor=request.actor),
            verify_rows(request.team.id, run.id),
        ),
        "verified_at": timezone.now(),
    }
    return page(request, part_or_page(request, "verification"), context)


@require_GET
@team_view
def run_export(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Return the run's entries, one JSON object a line."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    lines = b"".join(entry_lines(request.team.id, run.id))
    response = HttpResponse(lines, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="run-{run.id}.jsonl"'
    return response


@require_POST
@team_view
def run_bundle(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Return the record of a run as a file that proves itself; recorded.

    A long one is made in the background, as an export of the ledger.
    """
    require_permission(request.membership.role, Permission.EXPORT_RUNS)
    run = access_run(team_id=request.team.id, run_id=run_id)
    if bundle_is_long(run.team_id, run.id):
        export_request(
            team_id=run.team_id,
            wanted=EntryFilter(subject_id=run.id),
            form=ExportFormat.BUNDLE,
            has_texts=True,
            actor=request.actor,
        )
        messages.info(request, gettext(LONG_RECORD))
        return redirect("console:ledger_exports")
    made = bundle_create(team_id=run.team_id, run_id=run.id, actor=request.actor)
    response = HttpResponse(made.content, content_type=BUNDLE_TYPE)
    response["Content-Disposition"] = f'attachment; filename="run-{run.id}.zip"'
    return response


def _admit(request: TeamRequest, model: str, prompt: str) -> Admission:
    """Admit a run of the member. Raises: NotAllowed, RateLimited."""
    admission = run_admit(request.principal, model, prompt)
    admission.require()
    return admission


def known_places(request: TeamRequest) -> frozenset[int]:
    """Return the places in the chain of the newest entries that a page shows."""
    places = request.GET.getlist("seq")
    return frozenset(int(seq) for seq in places if _PLACE.fullmatch(seq))
