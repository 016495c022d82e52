"""Notes what became of an original run and its mirror, and which answer is better."""

from __future__ import annotations

from typing import Any

import orjson

from apps.core.ids import new_id
from apps.engine import events as ev
from apps.evaluation.shadow.agreement import answers_agree, judgement_read
from apps.evaluation.shadow.models import MirroredRun, MirrorState
from apps.runs.models import Run
from apps.runs.records.run_view import RunView
from apps.runs.selectors import access_run, run_view

NO_JUDGEMENT = "the grader's reply is no judgement"


def mirror_noted(mirrored: MirroredRun, *, is_judged: bool) -> None:
    """Store the figures of both runs, which have ended, and whether they agree.

    With `is_judged` a model compares answers that differ: the row waits for it then.
    """
    original, run = (
        access_run(team_id=mirrored.team_id, run_id=run_id)
        for run_id in (mirrored.original_run_id, mirrored.run_id)
    )
    original_view, view = run_view(original), run_view(run)
    mirrored.original_error, mirrored.error = (
        _error(original, original_view),
        _error(run, view),
    )
    mirrored.original_cost_micros, mirrored.cost_micros = (
        original.cost_micros,
        run.cost_micros,
    )
    mirrored.has_unknown_cost = original.has_unknown_cost or run.has_unknown_cost
    mirrored.original_latency_ms = original.latency_ms or 0
    mirrored.latency_ms = run.latency_ms or 0
    mirrored.original_tokens = original.prompt_tokens + original.completion_tokens
    mirrored.tokens = run.prompt_tokens + run.completion_tokens
    mirrored.state = MirrorState.DONE
    if not (mirrored.original_error or mirrored.error):
        mirrored.agrees = _agree(original_view, view)
        if is_judged and not mirrored.agrees:
            mirrored.state, mirrored.judging_run_id = MirrorState.JUDGED, new_id()
    mirrored.save()


def judgement_noted(mirrored: MirroredRun) -> None:
    """Store which answer is better, as the model says whose run has ended."""
    run = access_run(team_id=mirrored.team_id, run_id=mirrored.current_run_id)
    view = run_view(run)
    mirrored.judging_cost_micros = run.cost_micros
    mirrored.has_unknown_cost |= run.has_unknown_cost
    mirrored.state = MirrorState.DONE
    if error := _error(run, view):
        mirrored.cause = f"the grader's run: {error}"
    else:
        try:
            mirrored.judgement = judgement_read(
                view.answer or "", run_id=mirrored.run_id
            )
        except ValueError:
            mirrored.cause = NO_JUDGEMENT
    mirrored.save()


def _agree(original: RunView, view: RunView) -> bool:
    if original.tool_calls or view.tool_calls:
        return _called(original.tool_calls) == _called(view.tool_calls)
    return answers_agree(original.answer or "", view.answer or "")


def _called(tool_calls: str) -> list[tuple[str, Any]]:
    """Return names and arguments; the ids of calls are by chance."""
    given = orjson.loads(tool_calls or "[]")
    return [(each["function"]["name"], each["function"]["arguments"]) for each in given]


def _error(run: Run, view: RunView) -> str:
    """Return the code of a run that has no answer; empty: it has one."""
    if isinstance(view.end, ev.RunCompleted):
        return ""
    return view.error.code[:40] if view.error else run.state
