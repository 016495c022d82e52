"""What a comparison on held-out tasks says of a new version. Pure.

A difference counts only if its whole interval does: with 60 tasks, two versions that
are equally good differ by five points or more as often as not.
"""

from __future__ import annotations

from enum import StrEnum

from apps.evaluation.reports.statistics import Interval

CHEAP = 0.5
"""Share of the best rival's cost, at most, that makes up for being no more accurate."""


class GateResult(StrEnum):
    """How a version compares with its best rival, the most accurate one."""

    MORE_ACCURATE = "more_accurate"
    """The whole interval of the difference is above zero."""
    CHEAPER = "cheaper"
    """It costs half or less, and the interval is above minus the margin."""
    UNDECIDED = "undecided"
    """The interval holds zero."""
    LESS_ACCURATE = "less_accurate"
    """The whole interval is below zero."""
    UNMEASURED = "unmeasured"
    """There is no rival on the same tasks."""


BETTER = frozenset({GateResult.MORE_ACCURATE, GateResult.CHEAPER})
"""Results with which a version may plan without a person's reason."""


def gate_result(
    difference: Interval | None, cost_ratio: float | None, margin: float
) -> GateResult:
    """Return the result of a version.

    `difference` is its accuracy less the best rival's, `cost_ratio` its cost by that of
    the rival (None: the rival costs nothing), `margin` a share from 0 to 1.
    """
    if difference is None:
        return GateResult.UNMEASURED
    if difference.low > 0:
        return GateResult.MORE_ACCURATE
    is_cheap = cost_ratio is not None and cost_ratio <= CHEAP
    if is_cheap and difference.low >= -margin:
        return GateResult.CHEAPER
    return GateResult.LESS_ACCURATE if difference.high < 0 else GateResult.UNDECIDED
