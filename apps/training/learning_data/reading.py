"""Reads learning data from the ledger, in bounded memory: never stored, never cached.

Prompts are decrypted as they are read. So the data of a run is gone with its texts, by
retention or by erasure, from every data set and from the next fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from apps.evaluation.models import StepGrade
from apps.planners.light.logged_runs import (
    LoggedRun,
    LoggedStep,
    StepRole,
    role_of_subtask,
)
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView
from apps.runs.selectors import prompt_confines, run_views
from apps.runs.types import PromptConfines
from apps.training.learning_data.graded_runs import graded_runs
from apps.training.learning_data.records import GradedRun, LearningRecord
from apps.training.learning_data.served_models import ServedAs, ServedModels, Workers

READ_AT_ONCE = 25
"""Runs whose texts are in memory together."""
StepGrades = Mapping[tuple[int, int], float]
"""By round and index of the step."""


def learning_runs(team_id: UUID, pool: str) -> Iterator[LoggedRun]:
    """Yield what a planner for a pool of the team is fitted on.

    Raises: HistoryUnreadable if entries of a run are missing in the ledger.
    """
    for record in learning_records(team_id, pool):
        yield record.run


def learning_records(team_id: UUID, pool: str) -> Iterator[LearningRecord]:
    """Yield the same with where each run is from, always in the same order.

    Raises: HistoryUnreadable if entries of a run are missing in the ledger.
    """
    served = ServedModels(team_id)
    for page in graded_runs(team_id, pool):
        yield from records_of(team_id, page, served)


def records_of(
    team_id: UUID, graded: Sequence[GradedRun], served: ServedModels
) -> Iterator[LearningRecord]:
    """Yield some graded runs of a team with their texts, a few at a time.

    Raises: HistoryUnreadable if entries of a run are missing in the ledger.
    """
    for start in range(0, len(graded), READ_AT_ONCE):
        yield from _read(team_id, graded[start : start + READ_AT_ONCE], served)


def _read(
    team_id: UUID, some: Sequence[GradedRun], served: ServedModels
) -> Iterator[LearningRecord]:
    ids = [graded.run_id for graded in some]
    views, grades = dict(run_views(team_id, ids)), _grades(team_id, ids)
    workers = served.of(ids)
    for graded in some:
        view, run_id = views.get(graded.run_id), graded.run_id
        if view is not None:
            of_steps = grades.get(run_id, {})
            record = _record(graded, view, of_steps, workers.get(run_id, {}))
            if record is not None:
                yield record


def _grades(team_id: UUID, run_ids: Sequence[UUID]) -> dict[UUID, StepGrades]:
    rows = StepGrade.objects.for_team(team_id).filter(run_id__in=run_ids)
    found: dict[UUID, dict[tuple[int, int], float]] = {}
    for run_id, round_, step, grade in rows.values_list(
        "run_id", "round", "step", "grade"
    ):
        found.setdefault(run_id, {})[round_, step] = grade
    return dict(found)


def _record(
    graded: GradedRun, view: RunView, grades: StepGrades, workers: Workers
) -> LearningRecord | None:
    """Return a run with the plan that answered it; None: its texts are not there.

    A run with an answer of another run, or of a person, says little of its workers: it
    is left out.
    """
    round_ = view.answering_round
    if not view.prompt or round_ is None or view.created_at is None:
        return None
    if any(step.reused_from for step in round_.steps):
        return None
    *earlier, last = round_.steps
    steps = [
        _step(step, role_of_step(step, view.prompt), grades, workers)
        for step in earlier
    ]
    # Whatever it was asked, its answer is the run's.
    role = StepRole.SOLVE if not last.access else role_of_step(last, view.prompt)
    steps.append(_step(last, role, {last.place: graded.grade}, workers))
    costs = [step.full_cost for step in round_.steps]
    return LearningRecord(
        graded,
        view.created_at,
        LoggedRun(view.prompt, tuple(steps), graded.weight, graded.family),
        tuple(None if cost.has_unknown else cost.micros for cost in costs),
        _confines(view),
        round_.explanation,
    )


def _confines(view: RunView) -> PromptConfines:
    """Return how far a prompt may go, with the classes that were found in it."""
    found = prompt_confines(view.params)
    decided = (decision.data_class for decision in view.policy_decisions)
    classes = (*found.data_classes, view.redacted_class, *decided)
    named = tuple(dict.fromkeys(name for name in classes if name))
    return found._replace(data_classes=named)


def role_of_step(step: StepView, prompt: str) -> StepRole:
    """Return what a step is for; one that gets the prompt itself answers it."""
    if step.subtask == prompt:
        return StepRole.SOLVE
    return role_of_subtask(step.subtask, step.access)


def _step(
    step: StepView, role: StepRole, grades: StepGrades, workers: Workers
) -> LoggedStep:
    served = workers.get(step.worker, ServedAs(step.worker, ""))
    return LoggedStep(
        served.name,
        role,
        step.access,
        grades.get(step.place),
        step.usage.prompt_tokens,
        step.usage.completion_tokens,
        served.fingerprint,
    )
