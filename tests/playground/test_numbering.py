"""P13: numbers in the words of models are explained by the names a page uses."""

import pytest

from apps.playground.numbering import agents_of, models_of
from apps.runs.records.run_view import fold
from tests.playground import stories
from tests.playground.conftest import record_run

LISTS = "Model 2 is best.\nmodel_id = [2, 0, 2]\nsubtasks = ['a', 'b', 'c']"
AS_JSON = (
    '{"reasoning": "r", "steps": [{"subtask": "a", "worker": 2, "access": []}, '
    '{"subtask": "b", "worker": 0, "access": []}, '
    '{"subtask": "c", "worker": 2, "access": [0, 1]}]}'
)
WORKERS = ("atlas", "birch", "atlas")


def planned(output):
    recording = stories.Recording()
    recording.entries = stories.planning()
    plan = stories.accepted((), (), (0, 1), workers=WORKERS)
    recording.at(852, stories.replied(output=output)).at(860, plan)
    return recording.at(866, stories.started(2, "atlas")).entries


@pytest.mark.parametrize("output", [LISTS, AS_JSON])
def test_models_of_a_plan_are_named(output):
    (round_,) = fold(planned(output)).rounds
    assert models_of(round_) == [("Model 0", "birch"), ("Model 2", "atlas")]


@pytest.mark.parametrize("output", ["", "model_id = [1]", "no plan at all"])
def test_nothing_is_guessed_if_the_numbers_do_not_fit_the_plan(output):
    (round_,) = fold(planned(output)).rounds
    assert models_of(round_) == []


def test_agents_that_a_worker_was_told_of_are_steps_from_one_on():
    (round_,) = fold(planned(LISTS)).rounds
    assert agents_of(round_, (0, 1)) == [
        ("agent 0", "step 1, atlas"),
        ("agent 1", "step 2, birch"),
    ]


@pytest.mark.parametrize(
    ("path", "pair"),
    [
        ("", "<dt>Model 0</dt><dd>birch</dd>"),
        ("plans/0/", "<dt>Model 2</dt><dd>atlas</dd>"),
        ("steps/0/2/", "<dt>agent 0</dt><dd>step 1, atlas</dd>"),
    ],
)
def test_pages_explain_the_numbers_beside_the_words(bob, team, path, pair):
    run = record_run(team, planned(LISTS))
    assert pair in bob.get(f"/runs/{run.id}/{path}").content.decode()
