"""Pages of a part of a run: what a model was sent, one text.

Each is a page for a plain link, and a part of one for the script of a run's page.
"""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.core.errors import NotFound
from apps.playground.message_view import shown_messages
from apps.playground.model_text import draw_on_request
from apps.playground.numbering import Legend, agents_of, models_of
from apps.runs.models import Run
from apps.runs.records.round_view import CallView
from apps.runs.records.run_view import RunView
from apps.runs.selectors import access_run, run_view
from apps.web.team_access import TeamRequest, page, team_view

PARTIAL = "X-Partial"
"""The header by which a page's script asks for the part alone."""
ANSWER = "answer"
"""The name of the answer among the parts of a run."""


def part_or_page(request: TeamRequest, name: str) -> str:
    """Return the template for the page's script, or the page for a plain link."""
    is_part = request.headers.get(PARTIAL) == "true"
    return f"playground/_{name}.html" if is_part else f"playground/{name}.html"


@require_GET
@team_view
def plan_context(
    request: TeamRequest, run_id: uuid.UUID, round: int
) -> HttpResponseBase:
    """Show what the conductor was asked in a round, and what it wrote."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    found = next((r for r in run_view(run).rounds if r.index == round), None)
    if found is None:
        raise NotFound(f"this run has no round {round + 1}")
    title = f"Conductor, round {found.number}"
    legend = models_of(found)
    return _context_page(request, run, title, f"plan-{round}", found.calls, legend)


@require_GET
@team_view
def step_context(
    request: TeamRequest, run_id: uuid.UUID, round: int, step: int
) -> HttpResponseBase:
    """Show exactly what the worker of a step was sent, attempt by attempt."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    story = run_view(run)
    found = next((s for s in story.steps if (s.round, s.index) == (round, step)), None)
    if found is None:
        raise NotFound(f"this run has no step {step + 1} in round {round + 1}")
    title = f"Step {found.number}, {found.worker}"
    plan = next(each for each in story.rounds if each.index == round)
    legend = agents_of(plan, found.access)
    anchor = f"step-{found.key}"
    return _context_page(request, run, title, anchor, found.calls, legend)


@require_GET
@team_view
def run_text(request: TeamRequest, run_id: uuid.UUID, part: str) -> HttpResponseBase:
    """Show one text of a run formatted, as far as one request may take the time."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    title, text = _texts(run_view(run)).get(part, ("", ""))
    if not text:
        raise NotFound("this run has no such text, or the text has been erased")
    anchor = "run-answer" if part == ANSWER else part
    context = {
        "section": "runs",
        "run": run,
        "run_id": run.id,
        "part": part,
        "title": title,
        "anchor": anchor,
        "text": draw_on_request(text),
        "source": f"{anchor}-source",
        "original": text,
    }
    return page(request, part_or_page(request, "text"), context)


def _texts(story: RunView) -> dict[str, tuple[str, str]]:
    """Return the texts that models wrote in a run, with titles, by their parts."""
    texts = {ANSWER: ("Answer", story.answer or "")}
    for round_ in story.rounds:
        title = f"Conductor, round {round_.number}: reasoning"
        texts[f"plan-{round_.key}"] = (title, round_.reasoning)
    for step in story.steps:
        texts[f"step-{step.key}"] = (f"Step {step.number}, {step.worker}", step.text)
    return texts


def _context_page(
    request: TeamRequest,
    run: Run,
    title: str,
    anchor: str,
    calls: list[CallView],
    legend: Legend,
) -> HttpResponse:
    sent = [(call, shown_messages(call.messages)) for call in calls]
    context = {
        "section": "runs",
        "run": run,
        "title": title,
        "anchor": anchor,
        "sent": sent,
        "legend": legend,
    }
    return page(request, part_or_page(request, "context"), context)
