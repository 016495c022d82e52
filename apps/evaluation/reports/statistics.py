"""Intervals for shares of tasks and runs. Pure. All are of 95 %."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from apps.core.percentiles import percentile

Z = 1.959963984540054
"""The standard normal distribution has 95 % of its mass within so many deviations."""
Z_OF_POWER = 0.8416212335729143
"""It has 80 % of its mass below so many deviations."""
DISCORDANT = 0.3
"""Share of tasks on which two good systems differ, as on the simulated benchmark."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A share or difference of shares, with the bounds of its interval."""

    value: float
    low: float
    high: float


def share(right: int, total: int) -> Interval | None:
    """Return a share with Wilson's score interval; None: there are no tasks.

    Source: Wilson, Journal of the American Statistical Association 22 (1927).
    """
    if total == 0:
        return None
    low, high = _wilson(right, total)
    return Interval(right / total, low, high)


def paired_difference(both: int, first: int, second: int, none: int) -> Interval | None:
    """Return how much larger the first of two shares of the same tasks is.

    The counts are of tasks on which both were right, only the first, only the second,
    none. Source: Newcombe, Statistics in Medicine 17 (1998), method 10.
    """
    total = both + first + second + none
    if total == 0:
        return None
    right_1, right_2 = both + first, both + second
    p1, p2 = right_1 / total, right_2 / total
    low_1, high_1 = _wilson(right_1, total)
    low_2, high_2 = _wilson(right_2, total)
    phi = _correlation(both, first, second, none)
    below = _joined(p1 - low_1, high_2 - p2, phi)
    above = _joined(high_1 - p1, p2 - low_2, phi)
    value = (first - second) / total
    return Interval(value, max(-1.0, value - below), min(1.0, value + above))


def tasks_to_find(difference: float, discordant: float = DISCORDANT) -> int:
    """Return the tasks that a paired difference of two shares takes to be found.

    Found: in four of five comparisons its interval is above zero. `discordant` is the
    share of tasks on which one of the two is right and the other one wrong. Source:
    Connor, Biometrics 43 (1987), without its correction for small samples.
    """
    spread = Z * sqrt(discordant) + Z_OF_POWER * sqrt(discordant - difference**2)
    return ceil((spread / difference) ** 2)


def unpaired_difference(
    right_1: int, total_1: int, right_2: int, total_2: int
) -> Interval | None:
    """Return how much larger the first of two shares of different things is.

    None: there are no things on one side. Source: Newcombe, Statistics in Medicine 17
    (1998), pages 873 to 890, method 10.
    """
    if not (total_1 and total_2):
        return None
    p1, p2 = right_1 / total_1, right_2 / total_2
    low_1, high_1 = _wilson(right_1, total_1)
    low_2, high_2 = _wilson(right_2, total_2)
    below = _joined(p1 - low_1, high_2 - p2, 0.0)
    above = _joined(high_1 - p1, p2 - low_2, 0.0)
    return Interval(p1 - p2, p1 - p2 - below, p1 - p2 + above)


def median_and_p95(values: Sequence[int]) -> tuple[int, int]:
    """Return median and 95th percentile, each one of the values; 0 if there is none."""
    if not values:
        return 0, 0
    return percentile(values, 50), percentile(values, 95)


def _wilson(right: int, total: int) -> tuple[float, float]:
    middle = right + Z * Z / 2
    reach = Z * sqrt(right * (total - right) / total + Z * Z / 4)
    scale = total + Z * Z
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def _correlation(both: int, first: int, second: int, none: int) -> float:
    """Return the phi coefficient, with Newcombe's correction for continuity."""
    margins = (both + first) * (second + none) * (both + second) * (first + none)
    if margins == 0:
        return 0.0
    product = float(both * none - first * second)
    if product > 0:
        product = max(product - (both + first + second + none) / 2, 0)
    return product / sqrt(margins)


def _joined(a: float, b: float, phi: float) -> float:
    return sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))
