"""Runs that repeat a recorded plan: as it is, or with one step changed."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.rights import RUN
from apps.comparisons.services import comparison_create
from apps.core.errors import InvalidInput, NotFound
from apps.pools.selectors import pool_snapshot
from apps.runs.admission import run_admit
from apps.runs.forks import StepEdit, affected_steps
from apps.runs.models import Run
from apps.runs.planning.model_resolver import is_direct, parse_model
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView
from apps.runs.selectors import access_run, run_view
from apps.runs.services import run_fork
from apps.web.team_access import TeamRequest, page, refusal_show, team_view

MAX_TEXT = 200_000
RUN_AGAIN, USE_ANSWER = "run", "answer"


class ForkForm(forms.Form):
    """What changes in one step."""

    mode = forms.ChoiceField(
        choices=[
            (RUN_AGAIN, gettext_lazy("Run this step again")),
            (USE_ANSWER, gettext_lazy("Use an answer of yours")),
        ],
        widget=forms.RadioSelect,
        initial=RUN_AGAIN,
    )
    worker = forms.ChoiceField(required=False)
    subtask = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 5, "dir": "auto"}),
    )
    answer = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
    )

    def __init__(self, *args: Any, workers: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["worker"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in workers]
        for name in ("worker", "subtask", "answer"):
            self.fields[name].widget.attrs["class"] = "input"

    def clean(self) -> dict[str, Any]:
        """Require what the chosen way needs."""
        given = super().clean() or {}
        needed = "answer" if given.get("mode") == USE_ANSWER else "subtask"
        if not given.get(needed, "").strip() and needed not in self.errors:
            missing = {
                "answer": gettext("Write the answer."),
                "subtask": gettext("Write the subtask."),
            }
            self.add_error(needed, missing[needed])
        return given

    def edit(self, step: StepView) -> StepEdit:
        """Return the change of a step."""
        given = self.cleaned_data
        if given["mode"] == USE_ANSWER:
            return StepEdit(step.index, step.round, answer=given["answer"])
        return StepEdit(
            step.index,
            step.round,
            subtask=given["subtask"],
            worker=given["worker"] or None,
        )


@require_http_methods(["GET", "POST"])
@team_view
def step_fork(
    request: TeamRequest, run_id: uuid.UUID, round: int, step: int
) -> HttpResponseBase:
    """Change a step, and run it and the steps that depend on it."""
    request.principal.require(RUN)
    run = access_run(team_id=request.team.id, run_id=run_id)
    view = run_view(run)
    found = next((s for s in view.steps if (s.round, s.index) == (round, step)), None)
    if found is None or not view.is_over:
        raise NotFound("this run has no such step that could be changed")
    form = ForkForm(
        request.POST if request.method == "POST" else None,
        initial={
            "worker": found.planned_worker,
            "subtask": found.subtask,
            "answer": found.text,
        },
        workers=_workers(run, found),
    )
    if form.is_bound and form.is_valid():
        try:
            return _started(request, run, view, form.edit(found))
        except InvalidInput as error:
            form.add_error(None, error.message)
    steps = [s for s in view.steps if s.round == round]
    again = affected_steps(steps, step)
    context = {
        "section": "runs",
        "run": run,
        "step": found,
        "form": form,
        "steps": [(each, each.index in again) for each in steps],
    }
    status = 400 if form.errors else 200
    return page(request, "playground/fork.html", context, status)


@require_POST
@team_view
def run_replay(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Run the recorded plan again, with the pool as it is now."""
    request.principal.require(RUN)
    run = access_run(team_id=request.team.id, run_id=run_id)
    try:
        return _started(request, run, run_view(run), None)
    except InvalidInput as error:
        refusal_show(request, error)
        return redirect("playground:run_detail", run.id)


def _started(
    request: TeamRequest, run: Run, view: RunView, edit: StepEdit | None
) -> HttpResponseBase:
    """Start the run, and show it beside the one it repeats."""
    admission = run_admit(request.principal, run.model, view.prompt)
    admission.require()
    new_id = run_fork(run, request.principal, admission, edit=edit)
    forked = access_run(team_id=run.team_id, run_id=new_id)
    comparison = comparison_create(
        team_id=run.team_id, actor=request.actor, kept=(run, forked)
    )
    return redirect("playground:comparison", comparison.id)


def _workers(run: Run, step: StepView) -> list[str]:
    """Return the workers that can do a step: those of the pool as it is now."""
    name = parse_model(run.model)
    if is_direct(run.model):
        return [name.worker]
    names = [w.name for w in pool_snapshot(run.team_id, name.pool).chat_workers]
    return names if step.planned_worker in names else [step.planned_worker, *names]
