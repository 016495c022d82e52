"""Success by role, worker and kind; counts of exact situations; features of a step."""

import numpy as np
import pytest

from apps.planners.light.profiles import ProfileRole, Profiles
from apps.planners.light.situation_counts import (
    MAX_COMBINED,
    SituationCounts,
    posterior,
)
from apps.planners.light.situations import NONE, Act, Situation
from apps.planners.light.step_model import StepModel, step_features
from tests.planners.light import samples
from tests.planners.light.builders import SOLVE, STORY, SUM, model, run, step


def test_without_answers_everything_is_a_half():
    assert Profiles.empty(2, 3).table() == pytest.approx(np.full((4, 2, 3), 0.5))


def test_success_of_few_answers_is_drawn_towards_the_mean():
    profiles = Profiles.empty(1, 1)
    for is_right in (True, True, False):
        profiles.add(Situation(Act.SOLVE, 0, is_right), 0)
    # The role's mean is 3/5; the worker's and the kind's are (2 + 4 * 3/5) / (3 + 4).
    mean = 4.4 / 7
    odds = 2 * np.log(mean / (1 - mean)) - np.log(1.5)
    expected = 1 / (1 + np.exp(-odds))
    assert profiles.table()[ProfileRole.SOLVE, 0, 0] == pytest.approx(
        (2 + 2 * expected) / (3 + 2)
    )


def test_a_solution_with_a_plan_counts_for_both_workers():
    profiles = Profiles.empty(2, 1)
    profiles.add(Situation(Act.SOLVE, 0, True, planner=1), 0, weight=0.5)
    seen = profiles.seen[..., 0].tolist()
    assert seen == [[0, 0], [0.5, 0], [0, 0], [0, 0.5]]
    assert profiles.right.tolist() == profiles.seen.tolist()


@pytest.mark.parametrize(("was_right", "counted"), [(True, 0), (False, 1)])
def test_only_checks_of_wrong_drafts_count(was_right, counted):
    profiles = Profiles.empty(2, 1)
    profiles.add(Situation(Act.CHECK, 0, True, drafter=1, was_right=was_right), 0)
    assert profiles.seen[ProfileRole.CHECK, 0, 0] == counted


def test_what_is_taken_away_again_leaves_nothing():
    profiles = Profiles.empty(2, 1)
    for weight in (1.0, -1.0):
        profiles.add(Situation(Act.SOLVE, 0, True, planner=1), 0, weight)
    assert not profiles.seen.any() and not profiles.right.any()


def test_counts_mix_with_the_step_model_as_six_answers():
    counts = np.array([[4.0, 0.0], [3.0, 0.0]])
    prior = np.array([0.5, 0.25])
    assert posterior(counts, prior) == pytest.approx([(3 + 3) / (4 + 6), 0.25])


def test_each_situation_has_a_place_of_its_own():
    counts = SituationCounts.empty(3, 2)
    counts.add(Situation(Act.SOLVE, 1, True), 0)
    counts.add(Situation(Act.SOLVE, 1, False, planner=2), 1)
    counts.add(
        Situation(Act.CHECK, 0, True, NONE, 0, 1, drafter=2, was_right=False), 1, 0.5
    )
    counts.add(Situation(Act.COMBINE, 2, True, right=1, wrong=1), 0)
    assert counts.solve[:, 1, 0].tolist() == [1, 1]
    assert counts.guided[:, 2, 1, 1].tolist() == [1, 0]
    assert counts.check[:, 0, 0, 2, 0, 1].tolist() == [0.5, 0.5]
    assert counts.combine[:, 2, 1, 2, 0].tolist() == [1, 1]
    assert sum(array[0].sum() for array in counts.arrays().values()) == 3.5


def test_combinations_of_more_answers_than_templates_have_are_not_counted():
    counts = SituationCounts.empty(1, 1)
    counts.add(Situation(Act.COMBINE, 0, True, right=MAX_COMBINED + 1), 0)
    assert not counts.combine.any()


def test_features_are_one_row_a_situation_and_tell_situations_apart():
    table = np.random.default_rng(0).uniform(0.1, 0.9, (4, 3, 1))
    features = step_features(table, samples.ROWS)
    assert features.shape == (4, 8 + 8 * 5 + 2)
    assert np.isfinite(features).all()
    assert len(np.unique(features[:, :8], axis=0)) == 4
    assert features[:, :8].tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 1, 2, 0],
    ]


def test_a_step_model_gives_probabilities():
    table = np.full((4, 3, 1), 0.8)
    weights = np.zeros(50)
    weights[0] = 2.0  # an answer without anything to check or combine
    success = StepModel(weights, -1.0).success(table, samples.ROWS)
    right, wrong = 1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(1.0))
    assert success == pytest.approx([right, right, wrong, wrong])


def test_answers_of_one_kind_say_nothing_of_another():
    found = model(*[run(step("ada", SOLVE, [], 1), prompt=SUM)] * 20)
    kind, other = found.kinds.kind_of(SUM), found.kinds.kind_of(STORY)
    assert found.tables(kind).solve[0] == pytest.approx((20 + 3) / (20 + 6))
    assert found.tables(other).solve[0] == pytest.approx(0.5)
