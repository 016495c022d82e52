"""Intervals of shares: published values, limits, and how often they hold the truth."""

from __future__ import annotations

import random

import pytest

from apps.evaluation.reports.statistics import (
    median_and_p95,
    paired_difference,
    share,
    unpaired_difference,
)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_shares_have_the_published_intervals(right, total, low, high):
    found = share(right, total)
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_nothing_has_no_share():
    assert share(0, 0) is None
    assert paired_difference(0, 0, 0, 0) is None


def test_differences_are_antisymmetric_and_bounded():
    chance = random.Random(5)
    for _ in range(300):
        counts = [chance.randint(0, 12) for _ in range(4)]
        if not sum(counts):
            continue
        both, first, second, none = counts
        one = paired_difference(both, first, second, none)
        other = paired_difference(both, second, first, none)
        assert one is not None and other is not None
        assert one.value == pytest.approx(-other.value)
        assert one.low == pytest.approx(-other.high)
        assert -1 <= one.low <= one.value <= one.high <= 1


def test_a_difference_that_is_none_has_zero_within():
    found = paired_difference(40, 5, 5, 50)
    assert found is not None
    assert found.value == 0
    assert found.low < 0 < found.high


def test_intervals_of_differences_hold_the_truth_as_often_as_they_say():
    chance, held, trials = random.Random(11), 0, 2_000
    weights = (0.5, 0.2, 0.1, 0.2)
    for _ in range(trials):
        drawn = chance.choices(range(4), weights, k=120)
        found = paired_difference(*(drawn.count(n) for n in range(4)))
        assert found is not None
        held += found.low <= 0.1 <= found.high
    assert 0.935 <= held / trials <= 0.97


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090)],
)
def test_unpaired_differences_are_those_of_newcombes_table(first, second, low, high):
    found = unpaired_difference(*first, *second)
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    other = unpaired_difference(*second, *first)
    assert other is not None
    assert (other.value, other.low) == (-found.value, -found.high)


def test_a_side_without_things_has_no_difference():
    assert unpaired_difference(0, 0, 1, 2) is None
    assert unpaired_difference(1, 2, 0, 0) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (0, 0)),
        ([7], (7, 7)),
        ([3_431, 1_629], (1_629, 3_431)),
        ([3, 1, 2], (2, 3)),
        (range(1, 11), (5, 10)),
        (range(1, 101), (50, 95)),
    ],
)
def test_median_and_percentile_are_values(values, expected):
    assert median_and_p95(list(values)) == expected
