"""Grades the run of one result: its verifier decides, and the record says the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from secrets import token_hex

from django.db import transaction

from apps.core.ids import new_id
from apps.engine import events as ev
from apps.engine.ports import CallParams
from apps.evaluation.code_grading import GradingStopped, code_grades
from apps.evaluation.models import EvaluationResult, ResultState
from apps.evaluation.step_grading import (
    StepPlace,
    gradable_answers,
    step_grades_store,
)
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.verifiers.grade import Grade
from apps.evaluation.verifiers.model_graded import (
    RESPONSE_FORMAT,
    ModelGradedVerifier,
)
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier
from apps.runs.models import Run
from apps.runs.records.run_view import RunView
from apps.runs.selectors import access_run, run_view
from apps.sandbox.types import SandboxUnavailable

CAUSE_LENGTH = 200
NOT_GRADED = "its evaluation ended before it was graded"
MARK_BYTES = 8
"""Of the word between task and answer, made after both of them."""
FIELDS = (
    "state",
    "cause",
    "grading_run_id",
    "grading_cost_micros",
    "is_unplanned",
    "rejected_plans",
    "plan_faults",
    "steps",
    "tokens",
    "cost_micros",
    "has_unknown_cost",
    "latency_ms",
)
GRADING_PARAMS = CallParams(response_format=RESPONSE_FORMAT)


def run_noted(
    result: EvaluationResult,
    task: SuiteTask,
    grading_cost_micros: int,
    *,
    has_code_steps: bool,
) -> None:
    """Store what became of a result's run, which has ended.

    The prompt and the answers go nowhere but to the verifier. If a model judges, the
    result is being graded then, and that run may cost `grading_cost_micros`. Code is
    graded in a thread: until it has been, nothing is stored, and the caller asks again.
    Answers of the steps before the last one are graded too: not by models, and code
    only with `has_code_steps`.
    """
    run = access_run(team_id=result.team_id, run_id=result.run_id)
    view = run_view(run)
    _note_use(result, run, view)
    steps: Mapping[StepPlace, Grade] = {}
    if not isinstance(view.end, ev.RunCompleted):
        _fail(result, view.error.code if view.error else run.state)
    elif task.needs_grader:
        result.state, result.grading_run_id = ResultState.GRADING, new_id()
        result.grading_cost_micros = grading_cost_micros
    elif isinstance(task.verifier, UnitTestsVerifier):
        texts = gradable_answers(view) if has_code_steps else {}
        found = _code_graded(result, task.verifier, view.answer or "", texts)
        if found is None:
            return
        steps = found
    else:
        _decide(result, task.verifier.grade(view.answer or ""))
        texts = gradable_answers(view)
        steps = {place: task.verifier.grade(text) for place, text in texts.items()}
    with transaction.atomic():
        result.save(update_fields=FIELDS)
        step_grades_store(result, steps)


def _code_graded(
    result: EvaluationResult,
    verifier: UnitTestsVerifier,
    answer: str,
    steps: Mapping[StepPlace, str],
) -> Mapping[StepPlace, Grade] | None:
    """Note the grade of code, and return those of its steps; None: they are being made.

    If there can be none, the result fails.
    """
    try:
        grades = code_grades.take(result.id, verifier, (answer, *steps.values()))
    except SandboxUnavailable as exc:
        _fail(result, f"sandbox: {exc}")
        return {}
    except GradingStopped:
        _fail(result, NOT_GRADED)
        return {}
    if grades is None:
        return None
    _decide(result, grades[0])
    return dict(zip(steps, grades[1:], strict=True))


def grading_noted(result: EvaluationResult, task: SuiteTask) -> None:
    """Store what the model decided that judged a result, whose run has ended."""
    assert result.grading_run_id is not None
    run = access_run(team_id=result.team_id, run_id=result.grading_run_id)
    view = run_view(run)
    result.grading_cost_micros = run.cost_micros
    result.has_unknown_cost |= run.has_unknown_cost
    if not isinstance(view.end, ev.RunCompleted):
        _fail(result, f"grader: {view.error.code if view.error else run.state}")
    else:
        try:
            _decide(result, task.verifier.grade(view.answer or ""))
        except ValueError:
            _fail(result, "grader: its reply is no grade")
    result.save(update_fields=FIELDS)


def grading_prompt(result: EvaluationResult, task: SuiteTask) -> str:
    """Return what the grader is sent about a result's answer."""
    assert isinstance(task.verifier, ModelGradedVerifier)
    run = access_run(team_id=result.team_id, run_id=result.run_id)
    answer = run_view(run).answer or ""
    return task.verifier.grading_prompt(task.prompt, answer, token_hex(MARK_BYTES))


def _decide(result: EvaluationResult, grade: Grade) -> None:
    result.state = ResultState.RIGHT if grade.is_right else ResultState.WRONG
    result.cause = grade.why[:CAUSE_LENGTH]


def _fail(result: EvaluationResult, cause: str) -> None:
    result.state, result.cause = ResultState.FAILED, cause[:CAUSE_LENGTH]


def _note_use(result: EvaluationResult, run: Run, view: RunView) -> None:
    result.is_unplanned = any(each.is_fallback for each in view.rounds)
    rejected = [call for each in view.rounds for call in each.rejected]
    result.rejected_plans = len(rejected)
    result.plan_faults = Counter(call.fault for call in rejected)
    result.steps = view.steps_done
    result.tokens = run.prompt_tokens + run.completion_tokens
    result.cost_micros = run.cost_micros
    result.has_unknown_cost = run.has_unknown_cost
    result.latency_ms = run.latency_ms or 0
