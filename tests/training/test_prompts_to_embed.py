"""Which prompts of logged runs an embedding worker may be sent, and as what class."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import orjson
import pytest

from apps.planners.light.logged_runs import LoggedRun
from apps.runs.selectors import prompt_confines
from apps.runs.types import PromptConfines
from apps.training.learning_data.records import GradedRun, GradeSource, LearningRecord
from apps.training.trainings.embedding import PromptsToEmbed

AT = datetime(2025, 11, 23, tzinfo=UTC)


def record(prompt: str, *classes: str, workers: set[str] | None = None):
    graded = GradedRun(uuid.uuid4(), GradeSource.FEEDBACK, "", 1.0)
    named = None if workers is None else frozenset(workers)
    confines = PromptConfines(named, classes)
    return LearningRecord(graded, AT, LoggedRun(prompt, ()), (), confines)


def allowed(*records: LearningRecord) -> dict[str, str | None]:
    prompts = PromptsToEmbed("vectors")
    for each in records:
        prompts.add(each)
    return dict(prompts.allowed())


def test_each_prompt_is_there_once_with_the_highest_of_its_classes():
    found = allowed(
        record("one"),
        record("two", "public"),
        record("two", "confidential", "internal"),
        record("two"),
    )
    assert found == {"one": None, "two": "confidential"}


def test_a_prompt_that_one_of_its_callers_kept_to_other_workers_is_left_out():
    found = allowed(
        record("one", workers={"sim-delta"}),
        record("one"),
        record("two", workers={"sim-delta", "vectors"}),
    )
    assert found == {"two": None}


@pytest.mark.parametrize(
    ("params", "workers", "classes"),
    [
        ({}, None, ()),
        ({"allowed_workers": ["a", "b"]}, {"a", "b"}, ()),
        (
            {"allowed_workers": ["a", "b"], "narrowing": {"workers": ["b", "c"]}},
            {"b"},
            (),
        ),
        (
            {"key_data_class": "restricted", "narrowing": {"data_class": "public"}},
            None,
            ("restricted", "public"),
        ),
    ],
)
def test_confines_are_read_from_what_is_on_record(params, workers, classes):
    found = prompt_confines(orjson.dumps(params).decode())
    assert found.workers == workers
    assert found.data_classes == classes
    assert prompt_confines("") == PromptConfines()
