"""Percentiles by one rule, for everything that the product reports.

A percentile is the smallest of the values that so many percent of them do not exceed
(the nearest rank): the 95th of two values is the higher one.
"""

from __future__ import annotations

from collections.abc import Sequence


def percentile_rank(count: int, percent: int) -> int:
    """Return the place of a percentile among ordered values, the first of which is 1.

    `count`: of the values, at least one. `percent`: from 0 to 100.
    """
    return max(1, -(-count * percent // 100))


def percentile(values: Sequence[int], percent: int) -> int:
    """Return a percentile of at least one value, in any order."""
    return sorted(values)[percentile_rank(len(values), percent) - 1]
