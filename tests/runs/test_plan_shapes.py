"""Plans with the same graph have one shape, whatever the order of their steps."""

import pytest

from apps.runs.selectors import shape_of

PARALLEL = [[], [], [0, 1]]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ([[]], "1"),
        (PARALLEL, "2 → 1"),
        ([[], [0], [1]], "1 → 1 → 1"),
        ([[], [], [0], [1], [2, 3]], "2 → 2 → 1"),
        ([], "No plan"),
    ],
)
def test_shape_in_words_counts_steps_of_each_depth(access, words):
    assert shape_of(access).words == words


def test_order_of_steps_does_not_count():
    one = [[], [], [0], [0, 1], [2, 3]]
    other = [[], [], [1], [0, 1], [2, 3]]
    assert shape_of(one).key == shape_of(other).key


def test_steps_in_another_order_are_the_same_graph():
    assert shape_of([[], [0], [], [1, 2]]).key == shape_of([[], [], [0], [1, 2]]).key


@pytest.mark.parametrize(
    "other", [[[], [0], [0, 1]], [[], [], [0]], [[], [], [1], [0, 2]]]
)
def test_other_graphs_have_other_shapes(other):
    assert shape_of(other).key != shape_of(PARALLEL).key


def test_same_counts_by_depth_are_no_same_graph():
    crossed = [[], [], [0, 1], [0, 1], [2, 3]]
    straight = [[], [], [0], [1], [2, 3]]
    assert shape_of(crossed).words == shape_of(straight).words
    assert shape_of(crossed).key != shape_of(straight).key
