"""Fits on answers that other models gave under the names of present workers."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from apps.planners.light.former_models import FORMER_MOST
from apps.planners.light.logged_runs import LoggedRun, LoggedStep
from apps.planners.light.token_costs import ROLES, fit_token_model
from apps.training.fitting.light import fit_light
from apps.training.learning_data.records import (
    GradedRun,
    GradeSource,
    LearningRecord,
)
from apps.training.learning_data.served_models import AnsweringModels
from apps.training.trainings.measured_workers import MeasuredWorkers
from tests.planners.light.builders import CHECK, PLAN, SOLVE, SUM, run, step

OLD, NEW, OTHER = "0" * 16, "1" * 16, "2" * 16
NOW = {"ada": NEW, "ben": OTHER}


def answered(grade: float, fingerprint: str, **tokens: int) -> LoggedRun:
    return run(step("ada", SOLVE, [], grade, fingerprint=fingerprint, **tokens))


BEN = [run(step("ben", SOLVE, [], n % 2, fingerprint=OTHER)) for n in range(40)]


def success(runs, fingerprints) -> float:
    model = fit_light([*runs, *BEN], ["ada", "ben"], fingerprints=fingerprints).model
    return float(model.tables(model.kinds.kind_of(SUM)).solve[0])


def test_a_few_answers_of_the_present_model_outweigh_many_of_a_former_one():
    runs = [answered(1, OLD)] * 400 + [answered(0, NEW)] * 30
    assert success(runs, {}) > 0.85
    assert success(runs, NOW) < 0.25
    assert success(runs, {"ada": OLD, "ben": OTHER}) > 0.9  # the change was undone


def test_answers_of_which_the_model_is_not_known_count_in_full():
    runs = [answered(1, "")] * 400 + [answered(0, NEW)] * 30
    assert success(runs, NOW) == success(runs, {})


def test_all_former_answers_of_a_worker_count_no_more_than_a_few():
    former = [
        step("ada", PLAN, fingerprint=OLD),
        step("ben", SOLVE, [0], 1, fingerprint=OTHER),
    ]
    drafted = [answered(0, OLD).steps[0], step("ben", CHECK, [0], 1, fingerprint=OTHER)]
    runs = [run(*former), run(*drafted)] * 100
    model = fit_light([*runs, *BEN], ["ada", "ben"], fingerprints=NOW).model
    counts = model.counts
    assert counts.guided[0].sum() + counts.check[0].sum() < FORMER_MOST
    assert counts.solve[0, 1].sum() == 40  # ben's own answers count in full


def test_the_tokens_of_a_former_model_count_little():
    runs = [answered(1, OLD, output_tokens=1_000)] * 30
    runs += [answered(1, NEW, output_tokens=100)] * 30
    place = ROLES.index(SOLVE)
    mixed = fit_token_model(runs, ["ada"]).outputs[place, 0]
    assert fit_token_model(runs, ["ada"], NOW).outputs[place, 0] < mixed / 2


def record(*steps: LoggedStep, day: int = 1) -> LearningRecord:
    graded = GradedRun(uuid.uuid4(), GradeSource.VERIFIER, "sums", 1.0)
    at = datetime(2026, 1, day, tzinfo=UTC)
    return LearningRecord(graded, at, run(*steps), (0,) * len(steps))


def test_the_best_worker_is_judged_by_its_present_model():
    measured = MeasuredWorkers(NOW)
    for _ in range(30):
        measured.add(record(*answered(1, OLD).steps))
        measured.add(record(*answered(0, NEW).steps))
        measured.add(record(step("ben", SOLVE, [], 1, fingerprint=OTHER)))
        measured.add(record(step("ben", SOLVE, [], 0, fingerprint=OTHER)))
    assert measured.best(["ada", "ben"]) == "ben"


@pytest.mark.parametrize(
    ("fingerprints", "known"),
    [((OLD, OTHER), OTHER), ((OTHER, OLD), OLD), ((NEW, OLD), NEW), (("", OLD), NEW)],
)
def test_a_worker_is_known_by_its_present_model_once_that_has_answered(
    fingerprints, known
):
    answering = AnsweringModels(NOW)
    for day, fingerprint in enumerate(fingerprints, 1):
        answering.add(record(*answered(1, fingerprint).steps, day=day))
    assert answering.fingerprints(["ada"]) == {"ada": known}
