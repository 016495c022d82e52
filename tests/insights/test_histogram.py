"""Percentiles of merged counts stay near those of the values themselves."""

from random import Random
from statistics import quantiles

import pytest

from apps.insights.histogram import LogHistogram, middle_of, range_of


@pytest.mark.parametrize("percent", [50, 95])
@pytest.mark.parametrize("seed", range(5))
def test_percentile_is_within_five_percent_of_the_exact_one(seed, percent):
    random = Random(seed)
    values = [round(random.lognormvariate(7, 1.2)) + 20 for _ in range(5_000)]
    exact = quantiles(values, n=100)[percent - 1]
    found = LogHistogram.of(values).percentile(percent)
    assert found == pytest.approx(exact, rel=0.05)


def test_merged_counts_are_those_of_all_values():
    merged = LogHistogram.of([1, 50, 900])
    merged.merge(LogHistogram.of([2, 50]))
    assert merged == LogHistogram.of([1, 50, 900, 2, 50])


def test_packed_counts_are_read_back():
    histogram = LogHistogram.of([0, 3, 3, 70_000])
    assert LogHistogram.unpacked(histogram.packed()) == histogram


def test_no_value_has_no_percentile():
    assert LogHistogram.unpacked("").percentile(50) is None
    assert LogHistogram().packed() == ""


def test_one_value_is_every_percentile():
    histogram = LogHistogram.of([0])
    assert [histogram.percentile(p) for p in (1, 50, 95, 100)] == [0, 0, 0, 0]


@pytest.mark.parametrize("value", [1, 2, 3, 7, 999, 123_456_789])
def test_middle_of_a_range_lies_in_it(value):
    assert range_of(middle_of(range_of(value))) == range_of(value) or value < 12


def test_median_of_two_is_the_lower_one():
    assert LogHistogram.of([100, 10_000]).percentile(50) == pytest.approx(100, rel=0.05)
