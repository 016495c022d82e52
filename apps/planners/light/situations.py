"""What a step had in sight when it answered, as far as the step model cares. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from apps.planners.light.fingerprints import NOT_KNOWN, is_another_model
from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole

RIGHT_FROM = 0.5
"""Grades from it on count as right."""
ANSWERS = (StepRole.SOLVE, StepRole.CHECK, StepRole.COMBINE)
NONE = -1


class Act(IntEnum):
    """What a step that answers does."""

    SOLVE = 0
    CHECK = 1
    COMBINE = 2


class Situation(NamedTuple):
    """One graded answer: who gave it, with what in sight. Workers by their index."""

    act: Act
    worker: int
    is_right: bool
    planner: int = NONE
    """Whose plan was in sight."""
    right: int = 0
    wrong: int = 0
    """Answers in sight that were right, and wrong."""
    drafter: int = NONE
    """Who gave the answer that was checked."""
    was_right: bool = False
    """That answer was right."""
    is_draft_planned: bool = False
    """That answer had a plan in sight."""
    former: tuple[int, ...] = ()
    """Who of those that had a part in it is another model now."""


def situations(
    run: LoggedRun,
    index_of: Mapping[str, int],
    fingerprints: Mapping[str, str] = NOT_KNOWN,
) -> Iterator[Situation]:
    """Yield what can be learned of a run: its graded answers, in order.

    Nothing is learned of an answer that was not graded, nor of one that had such an
    answer in sight, nor of workers that `index_of` does not know. `fingerprints` are
    those of the models that the workers are to be known by.
    """
    for place, step in enumerate(run.steps):
        if step.role is StepRole.PLAN or step.grade is None:
            continue
        if found := _situation(run, place, index_of):
            yield found._replace(former=_former(run, place, index_of, fingerprints))


def _situation(
    run: LoggedRun, place: int, index_of: Mapping[str, int]
) -> Situation | None:
    step = run.steps[place]
    seen = [run.steps[earlier] for earlier in step.access]
    drafts = [each for each in seen if each.role in ANSWERS]
    planner = _planner(run, place)
    names = [step.worker, *(each.worker for each in drafts)]
    if planner is not None:
        names.append(planner.worker)
    if any(name not in index_of for name in names):
        return None
    by_plan = NONE if planner is None else index_of[planner.worker]
    own = (index_of[step.worker], is_right(step))
    if step.role is StepRole.SOLVE or not drafts:
        return Situation(Act.SOLVE, *own, by_plan)
    if any(draft.grade is None for draft in drafts):
        return None
    right = sum(is_right(draft) for draft in drafts)
    if step.role is StepRole.COMBINE:
        return Situation(Act.COMBINE, *own, NONE, right, len(drafts) - right)
    return Situation(
        Act.CHECK,
        *own,
        by_plan,
        right,
        len(drafts) - right,
        index_of[drafts[-1].worker],
        is_right(drafts[-1]),
        by_plan != NONE,
    )


def _former(
    run: LoggedRun,
    place: int,
    index_of: Mapping[str, int],
    fingerprints: Mapping[str, str],
) -> tuple[int, ...]:
    """Return who answered, planned or drafted as another model than the present one."""
    step = run.steps[place]
    parts = [step, *(run.steps[earlier] for earlier in step.access)]
    if step.role is StepRole.COMBINE:  # whose answers it combines does not count
        parts = [step]
    return tuple(
        index_of[part.worker]
        for part in parts
        if part.worker in index_of
        and is_another_model(fingerprints.get(part.worker, ""), part.fingerprint)
    )


def _planner(run: LoggedRun, place: int) -> LoggedStep | None:
    """Return the step whose plan the step at `place` has in sight."""
    seen = [run.steps[earlier] for earlier in run.steps[place].access]
    return next((each for each in seen if each.role is StepRole.PLAN), None)


def is_right(step: LoggedStep) -> bool:
    """Say whether a graded answer counts as right."""
    return step.grade is not None and step.grade >= RIGHT_FROM
