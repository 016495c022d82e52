"""One rule of percentiles: the smallest value that so many percent do not exceed."""

from __future__ import annotations

import pytest

from apps.core.percentiles import percentile, percentile_rank
from tests.seeds import new_dice


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([7], 95, 7),
        ([3_431, 1_629], 95, 3_431),
        ([3_431, 1_629], 50, 1_629),
        (range(1, 11), 95, 10),
        (range(1, 21), 95, 19),
        (range(1, 101), 95, 95),
        (range(1, 101), 50, 50),
        (range(1, 102), 95, 96),
        (range(1, 101), 0, 1),
        (range(1, 101), 100, 100),
    ],
)
def test_percentile_is_the_smallest_value_that_so_many_percent_do_not_exceed(
    values, percent, expected
):
    assert percentile(list(values), percent) == expected


def test_rank_is_never_rounded_by_the_arithmetic_of_the_machine():
    # 0.07 * 100 is a little more than 7 for floats.
    assert [percentile_rank(100, percent) for percent in range(1, 101)] == [
        *range(1, 101)
    ]


def test_rank_fits_its_definition():
    dice = new_dice()
    for _ in range(50):
        values = [dice.randrange(40) for _ in range(dice.randrange(1, 60))]
        percent = dice.randrange(1, 101)
        allowed = [
            value
            for value in values
            if 100 * sum(other <= value for other in values) >= percent * len(values)
        ]
        assert percentile(values, percent) == min(allowed)
