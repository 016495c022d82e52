"""The plot of an evaluation: no number covers another one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from apps.console.evaluations.evaluation_plot import MARK, plot_of
from apps.evaluation.reports.statistics import Interval


class Measured:
    """As much of a system's report as the plot reads."""

    has_unknown_cost = False
    ended = 100
    label = "worker"

    def __init__(self, cost_micros: int, value: float) -> None:
        self.cost_micros = cost_micros
        self.right = round(100 * value)
        self.accuracy = Interval(value, value - 0.05, value + 0.05)


def test_numbers_of_systems_that_are_alike_stand_side_by_side() -> None:
    systems: Any = [Measured(10_000, 0.5), *(Measured(100, 0.4) for _ in range(3))]
    plot = plot_of(systems, 0)
    assert plot is not None
    product = plot.points[-1]
    assert (product.number, product.mark_x) == (1, product.x)
    marks = sorted(point.mark_x for point in plot.points if point.number > 1)
    assert [b - a for a, b in pairwise(marks)] == [MARK, MARK]
    assert len({point.x for point in plot.points if point.number > 1}) == 1
