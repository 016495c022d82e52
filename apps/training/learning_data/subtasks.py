"""Compares the subtasks that plans of a pool had by what came of their runs.

Texts are decrypted as they are read, and nothing is stored: what is erased is in no
table. The same runs count as for planners, so the team's consent holds here too.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from apps.engine.usage import Cost
from apps.planners.light.logged_runs import StepRole
from apps.runs.records.round_view import FALLBACK, StepView
from apps.runs.records.run_view import RunView
from apps.runs.selectors import run_views
from apps.training.learning_data.graded_runs import graded_runs
from apps.training.learning_data.reading import role_of_step
from apps.training.learning_data.records import GradedRun
from apps.training.learning_data.subtask_texts import (
    SubtaskCounts,
    SubtaskOutcome,
    SubtaskUse,
    general_words,
)

MOST_RUNS = 1_000
"""The newest graded runs; bounds what one request reads."""
FEWEST_USES = 5
"""Of a text that is shown: with fewer an interval says nothing."""


@dataclass(frozen=True, slots=True)
class SubtaskComparison:
    """The subtasks of a pool's graded runs by outcome."""

    pool: str
    runs: int
    """That were read."""
    older_runs: int
    """Graded runs that were not, because they are older."""
    rare_texts: int
    """Texts with too few uses to be shown."""
    is_full: bool
    """True: there were too many different texts, and some are not counted."""
    outcomes: tuple[SubtaskOutcome, ...]


def subtask_comparison(
    team_id: UUID, pool: str, *, family: str | None = None, worker: str = ""
) -> SubtaskComparison:
    """Compare the subtasks of the newest graded runs.

    `family` None: all; empty: runs without one. `worker` not empty: only the steps that
    it answered. Raises: HistoryUnreadable if entries of a run are missing.
    """
    found = [
        run
        for page in graded_runs(team_id, pool)
        for run in page
        if family is None or run.family == family
    ]
    newest = heapq.nlargest(MOST_RUNS, found, key=lambda run: run.run_id)
    grades = {run.run_id: run for run in newest}
    counts = SubtaskCounts()
    for run_id, view in run_views(team_id, list(grades)):
        counts.add(_uses(grades[run_id], view, worker))
    outcomes = tuple(counts.outcomes(fewest=FEWEST_USES))
    return SubtaskComparison(
        pool=pool,
        runs=len(newest),
        older_runs=len(found) - len(newest),
        rare_texts=counts.texts - len(outcomes),
        is_full=counts.is_full,
        outcomes=outcomes,
    )


def _uses(graded: GradedRun, view: RunView, worker: str) -> Iterator[SubtaskUse]:
    """Yield the subtasks of the plan that answered a run.

    A step that got the prompt itself had no subtask, and an erased one no text.
    """
    round_ = view.answering_round
    if not view.prompt or round_ is None or round_.planner == FALLBACK:
        return
    if any(step.reused_from for step in round_.steps):
        return
    same: dict[tuple[StepRole, str], list[StepView]] = defaultdict(list)
    for step in round_.steps:
        is_meant = not worker or step.worker == worker
        text = "" if step.subtask == view.prompt else general_words(step.subtask)
        if is_meant and text and step.state == "completed":
            same[role_of_step(step, view.prompt), text].append(step)
    for (role, text), steps in same.items():
        cost = sum((step.full_cost for step in steps), Cost())
        micros = None if cost.has_unknown else cost.micros
        yield SubtaskUse(
            role, graded.family, text, round_.planner, graded.grade, micros
        )
