"""The report of a run: two pages to read and print, with what vouches for them."""

from __future__ import annotations

import uuid

from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.audit.browsing.chain_status import covering_signature
from apps.audit.browsing.run_checks import run_check
from apps.audit.rows import verify_rows
from apps.governance.reviews.reads import review_of_run, reviews_given
from apps.governance.selectors import feedback_list
from apps.playground.run_page import compose
from apps.playground.verification_text import verification_text
from apps.runs.selectors import access_run, events_in, labels_of, run_entries
from apps.web.team_access import TeamRequest, page, team_view

QUESTION_LENGTH = 3_000
"""Characters of a question that are shown; the entries have the rest."""
SUBTASK_LENGTH = 240


@require_GET
@team_view
def run_report(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Show the report of a run, verified as it is shown; faults are recorded."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    entries = run_entries(run)
    now = timezone.now()
    body = compose(run.id, events_in(entries), now)
    item = review_of_run(request.team.id, run.id)
    context = {
        "section": "runs",
        "run": run,
        "body": body,
        "question_length": QUESTION_LENGTH,
        "subtask_length": SUBTASK_LENGTH,
        "labels": labels_of(request.team.id, [run.id])[run.id],
        "review": item,
        "reviews": reviews_given(item) if item else (),
        "feedback": feedback_list(request.team.id, run.id),
        "verdict": verification_text(
            run_check(team_id=run.team_id, run_id=run.id, actor=request.actor),
            verify_rows(run.team_id, run.id),
        ),
        "verified_at": now,
        "signature": covering_signature(run.team_id, entries[-1].seq)
        if entries
        else None,
    }
    return page(request, "playground/run_report.html", context)
