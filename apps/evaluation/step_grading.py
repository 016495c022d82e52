"""Grades of the steps before the last one, by the verifier of the task.

A planner learns from them which worker does which kind of step well. A step has none if
it has no answer, or if it says how to go about the question, for then it holds none.
"""

from __future__ import annotations

from collections.abc import Mapping

from apps.evaluation.models import EvaluationResult, StepGrade
from apps.evaluation.verifiers.grade import Grade
from apps.planners.light.logged_runs import StepRole, role_of_subtask
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView

StepPlace = tuple[int, int]
"""Round and index of a step."""


def gradable_answers(view: RunView) -> dict[StepPlace, str]:
    """Return the answers before the last one of the round that answered, by step."""
    round_ = view.answering_round
    steps = round_.steps[:-1] if round_ else []
    return {step.place: step.text for step in steps if _is_gradable(step)}


def step_grades_store(
    result: EvaluationResult, grades: Mapping[StepPlace, Grade]
) -> None:
    """Store the grades of a run's steps, once."""
    StepGrade.objects.bulk_create(
        (
            StepGrade(
                team_id=result.team_id,
                run_id=result.run_id,
                round=round_,
                step=step,
                grade=float(grade.is_right),
            )
            for (round_, step), grade in grades.items()
        ),
        ignore_conflicts=True,
    )


def _is_gradable(step: StepView) -> bool:
    # A reused answer is that of another run.
    if step.state != "completed" or step.reused_from or not step.text:
        return False
    return role_of_subtask(step.subtask, step.access) != StepRole.PLAN
