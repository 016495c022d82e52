"""Who is best alone, by learning data in which workers are asked for what they know."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.training.learning_data.records import (
    GradedRun,
    GradeSource,
    LearningRecord,
)
from apps.training.trainings.measured_workers import MeasuredWorkers

WORKERS = ("language", "generalist")


def measured(*answers: tuple[str, str, int, int]) -> MeasuredWorkers:
    """Count answers by family, worker, right ones and all."""
    found = MeasuredWorkers()
    for family, worker, right, total in answers:
        for number in range(total):
            grade = float(number < right)
            found.add(record(family, [LoggedStep(worker, StepRole.SOLVE, (), grade)]))
    return found


def record(family: str, steps: Sequence[LoggedStep]) -> LearningRecord:
    graded = GradedRun(uuid.uuid4(), GradeSource.VERIFIER, family, 1.0)
    run = LoggedRun("?", tuple(steps), 1.0)
    return LearningRecord(
        graded, datetime(2025, 11, 1, tzinfo=UTC), run, (0,) * len(steps)
    )


def test_a_worker_that_is_asked_for_one_thing_is_not_best_at_all():
    found = measured(
        ("reversal", "language", 190, 200),
        ("arithmetic", "language", 2, 20),
        ("reversal", "generalist", 14, 20),
        ("arithmetic", "generalist", 14, 20),
    )
    assert found.best(WORKERS) == "generalist"
    assert found.best_by_family(WORKERS) == {
        "arithmetic": "generalist",
        "reversal": "language",
    }


def test_runs_without_a_family_count_like_one_more():
    found = measured(("", "language", 9, 10), ("", "generalist", 1, 10))
    assert found.best(WORKERS) == "language"
    assert found.best_by_family(WORKERS) == {}


def test_of_equals_and_of_nothing_the_first_is_best():
    assert measured().best(WORKERS) == "language"
    assert measured().best(WORKERS[::-1]) == "generalist"


def test_answers_with_something_in_sight_do_not_count():
    found = MeasuredWorkers()
    found.add(
        record(
            "reversal",
            [
                LoggedStep("generalist", StepRole.SOLVE, (), 1.0),
                LoggedStep("language", StepRole.CHECK, (0,), 1.0),
                LoggedStep("language", StepRole.SOLVE, (), 0.0),
            ],
        )
    )
    assert found.best(WORKERS) == "generalist"
