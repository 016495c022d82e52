"""Pages of a part of a run: what a model was sent, one text, a text as it grows.

Each is a page for a plain link, and a part of one for the script of a run's page.
"""

from __future__ import annotations

import uuid

from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from apps.core.errors import InvalidInput, NotFound
from apps.playground.message_view import shown_messages
from apps.playground.numbering import Legend, agents_of, models_of
from apps.playground.texts.markdown import render_growing
from apps.playground.texts.model_text import draw_on_request, is_growable
from apps.runs.models import Run
from apps.runs.records.round_view import CallView, StepView
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
    title = gettext("Conductor, round {number}").format(number=found.number)
    legend = models_of(found)
    return _context_page(request, run, title, f"plan-{round}", found.calls, legend)


@require_GET
@team_view
def step_context(
    request: TeamRequest, run_id: uuid.UUID, round: int, step: int
) -> HttpResponseBase:
    """Show a step: its subtask and answer, and what its worker was sent each time."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    story = run_view(run)
    found = next((s for s in story.steps if (s.round, s.index) == (round, step)), None)
    if found is None:
        raise NotFound(f"this run has no step {step + 1} in round {round + 1}")
    title = _step_title(found)
    plan = next(each for each in story.rounds if each.index == round)
    legend = agents_of(plan, found.access)
    anchor = f"step-{found.key}"
    return _context_page(request, run, title, anchor, found.calls, legend, found)


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
        "text": draw_on_request(text, f"{part}-{run.id}"),
        "source": f"{anchor}-source",
        "original": text,
    }
    return page(request, part_or_page(request, "text"), context)


@require_POST
@team_view
def format_growing(request: TeamRequest) -> HttpResponseBase:
    """Format the body, Markdown that is still being written; nothing is kept.

    `formatted` is null for a text that would take too long. `closed`: how much of it,
    in the units of JavaScript's strings, may be left out next time, because
    `closed_html` stays as it is.
    """
    try:
        text = request.body.decode()
    except UnicodeDecodeError as exc:
        raise InvalidInput("expected the text in UTF-8") from exc
    formatted = _grown(text) if is_growable(text) else None
    response = JsonResponse({"formatted": formatted})
    response["Cache-Control"] = "no-store"
    return response


def _grown(text: str) -> dict[str, object]:
    grown = render_growing(text)
    return {
        "closed": len(text[: grown.closed].encode("utf-16-le")) // 2,
        "closed_html": grown.closed_html,
        "open_html": grown.open_html,
    }


def _texts(story: RunView) -> dict[str, tuple[str, str]]:
    """Return the texts that models wrote in a run, with titles, by their parts."""
    texts = {ANSWER: (gettext("Answer"), story.answer or "")}
    for round_ in story.rounds:
        words = gettext("Conductor, round {number}: reasoning")
        title = words.format(number=round_.number)
        texts[f"plan-{round_.key}"] = (title, round_.reasoning)
    for step in story.steps:
        texts[f"step-{step.key}"] = (_step_title(step), step.text)
    return texts


def _step_title(step: StepView) -> str:
    words = gettext("Step {number}, {worker}")
    return words.format(number=step.number, worker=step.worker)


def _context_page(
    request: TeamRequest,
    run: Run,
    title: str,
    anchor: str,
    calls: list[CallView],
    legend: Legend,
    step: StepView | None = None,
) -> HttpResponse:
    sent = [(call, shown_messages(call.messages)) for call in calls]
    context = {
        "section": "runs",
        "run": run,
        "title": title,
        "anchor": anchor,
        "sent": sent,
        "legend": legend,
        "run_id": run.id,
        "step": step,
    }
    return page(request, part_or_page(request, "context"), context)
