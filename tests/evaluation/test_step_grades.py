"""Steps before the last one are graded with the verifier of their task."""

from __future__ import annotations

from typing import Any

import pytest

from apps.evaluation import grading
from apps.evaluation.models import EvaluationResult, StepGrade
from apps.evaluation.selectors import results_of
from apps.evaluation.suites.storage import task_read
from apps.planners.light.templates import OUTLINE
from tests.conftest import Site
from tests.evaluation.test_code_tasks import needs_sandbox
from tests.evaluation.test_driver import ended, start

RIGHT, WRONG = "[[say 395]]", "[[say 396]]"


def step(subtask: str, *access: int) -> dict[str, Any]:
    """Return a step that says what its subtask spells out."""
    return {"worker": "scripted", "subtask": subtask, "access": access}


def plan(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "given_plans", "name": "Mine", "others": steps}


def grades(site: Site) -> list[tuple[int, int, float]]:
    rows = StepGrade.objects.for_team(site.cast.team.id).order_by("run_id", "step")
    return list(rows.values_list("round", "step", "grade"))


TASK = {
    "id": "1",
    "prompt": "What is 17 * 23 + 4?",
    "verifier": {"kind": "numeric", "answer": 395},
}
CODE = {
    **TASK,
    "verifier": {"kind": "unit_tests", "cases": [{"output": "7"}], "memory_mb": 128},
}
PROGRAM = "[[say ```python\nprint(7)\n```]]"


def run(site: Site, *steps: dict[str, Any], task: Any = TASK, **values: object):
    """Evaluate a plan on one task; return its result."""
    site.add_worker("scripted")
    return results_of(ended(start(site, plan(*steps), tasks=[task], **values))).get()


def test_each_answer_is_graded_by_itself(site):
    result = run(site, step(RIGHT), step(WRONG), step(RIGHT, 0, 1))
    assert result.state == "right"
    assert grades(site) == [(0, 0, 1.0), (0, 1, 0.0)]


def test_a_plan_has_no_grade(site):
    run(site, step(f"{OUTLINE} {RIGHT}"), step(RIGHT, 0))
    assert grades(site) == []


def test_a_single_step_has_the_grade_of_its_result_alone(site):
    assert run(site, step(RIGHT)).state == "right"
    assert grades(site) == []


def test_a_model_grades_no_step_before_the_last(site):
    rubric = {"kind": "model_graded", "rubric": "It must be right."}
    task = {**TASK, "verifier": rubric}
    run(site, step(RIGHT), step(RIGHT, 0), task=task, grader="sim-birch")
    assert grades(site) == []


@needs_sandbox
@pytest.mark.parametrize("every", [False, True])
def test_code_of_steps_is_tested_if_that_is_wanted(site, every):
    steps = step(PROGRAM), step(PROGRAM, 0)
    assert run(site, *steps, task=CODE, grade_every_step=every).state == "right"
    assert grades(site) == ([(0, 0, 1.0)] if every else [])


def test_grades_and_result_are_stored_together_or_not_at_all(site, monkeypatch):
    """A process that dies between the two leaves neither, so the next grades again."""

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    result = run(site, step(RIGHT), step(RIGHT, 0))
    StepGrade.objects.for_team(site.cast.team.id).delete()
    results_of(result.evaluation).update(state="started")
    result.refresh_from_db()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(grading, "step_grades_store", dies)
        note(result)
    result.refresh_from_db()
    assert result.state == "started"
    note(result)
    note(result)
    result.refresh_from_db()
    assert (result.state, grades(site)) == ("right", [(0, 0, 1.0)])


def note(result: EvaluationResult) -> None:
    grading.run_noted(result, task_read(result.task), 0, has_code_steps=False)
