"""Vectors of prompts, and the kinds around them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.planners.light.kinds import Kinds
from apps.planners.light.text_features import MAX_CHARS, WIDTH, text_features
from tests.planners.light.builders import STORY, SUM, centre, kinds


@given(st.text(max_size=300))
@example("\ud800 half a character")
@example(" \n")
def test_vectors_have_length_1_unless_the_text_is_empty(text):
    found = text_features(text)
    length = float(np.sqrt(found.values @ found.values))
    assert length == pytest.approx(1.0 if text.split() else 0.0)
    assert ((found.places >= 0) & (found.places < WIDTH)).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 17 + 4?", "What is 9 + 123456?"),
        ("COMPUTE IT", "compute it"),
        ("two\n\n  words", "two words"),
    ],
)
def test_numbers_case_and_white_space_do_not_matter(one, other):
    first, second = text_features(one), text_features(other)
    assert np.array_equal(first.places, second.places)
    assert np.array_equal(first.values, second.values)


def test_other_words_do_matter():
    assert centre(SUM) @ centre(STORY) < 0.5


def test_of_a_long_text_the_middle_is_not_read():
    half = MAX_CHARS // 2
    begin, end = "alpha beta " * half, "gamma delta " * half
    texts = [begin[:half] + middle + end[-half:] for middle in ("x" * 99, "y z " * 99)]
    assert np.array_equal(centre(texts[0]), centre(texts[1]))


def test_the_kind_of_a_prompt_is_that_of_the_nearest_centre():
    found = kinds(SUM, STORY)
    assert found.kinds_of(["Compute 1 * 99.", "Ann reads a story."]) == [0, 1]
    kind, likeness = found.nearest("Compute 1 * 99.")
    assert kind == 0 and likeness == pytest.approx(1.0)
    assert found.nearest("Something else")[1] < 0.5


def test_several_centres_may_be_one_kind():
    rows = np.stack([centre(SUM), centre(STORY), centre("Reverse a word")])
    found = Kinds(rows, np.array([0, 1, 0]))
    assert len(found) == 2
    assert found.kinds_of([SUM, STORY, "Reverse the word"]) == [0, 1, 0]


@pytest.mark.parametrize(
    ("rows", "of_centre", "message"),
    [
        (np.zeros((1, 3)), [0], "centres"),
        (np.zeros(WIDTH), [0], "centres"),
        (np.zeros((2, WIDTH)), [0], "kinds: expected one"),
        (np.zeros((0, WIDTH)), [], "kinds: expected one"),
        (np.zeros((2, WIDTH)), [0, 2], "numbers from 0 on"),
        (np.zeros((1, WIDTH)), [-1], "numbers from 0 on"),
    ],
)
def test_centres_and_kinds_that_do_not_fit_are_refused(rows, of_centre, message):
    with pytest.raises(ValueError, match=message):
        Kinds(rows, np.array(of_centre, np.int64))
