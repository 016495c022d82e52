"""Pictures of a report as shapes for SVG: intervals, and accuracy against cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log10

from django.utils.translation import gettext

from apps.core.money import MICROS, usd_text
from apps.evaluation.reports.statistics import Interval
from apps.evaluation.reports.system_report import SystemReport

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 12, 36
"""Margins of the plot, for its axes."""
BAR_WIDTH = 120
WIDE_SCALE = 20
"""Costs that differ by more than this factor are drawn to a logarithmic scale."""
QUARTERS = 4
"""The scale of shares begins at a multiple of a quarter and has as many lines."""
MARK = 22
"""Width of the circle with a system's number, and of the space beside it."""
PER_TASKS = 1_000
"""Costs are those of so many tasks."""

HEAT_STEPS = 5
"""Shades of the map of families."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One family of one system."""

    family: str
    right: int
    ended: int

    @property
    def share(self) -> float:
        """Return the accuracy; 0 if no task has ended."""
        return self.right / self.ended if self.ended else 0.0

    @property
    def heat(self) -> int:
        """Return its shade, from 1 to `HEAT_STEPS`; 0: no task has ended."""
        return min(1 + int(self.share * HEAT_STEPS), HEAT_STEPS) if self.ended else 0


@dataclass(frozen=True, slots=True)
class IntervalBar:
    """An interval from 0 to 1 in a row of a table."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """One system."""

    number: int
    """From 1, as in the table."""
    place: int
    """Of the system in the settings."""
    label: str
    x: float
    y: float
    low_y: float
    high_y: float
    is_best: bool
    """No other system is as cheap and as accurate: it is on the Pareto front."""
    is_product: bool
    """It is what the report is about: what plans, beside what it is compared with."""
    words: str
    mark_x: float = 0.0
    """Where its number stands: beside the point, if another number is there."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Accuracy against cost, in the units of a `viewBox`."""

    points: Sequence[PlotPoint]
    """In the order in which they are drawn: the product lies above all others."""
    front: str
    """Points of a polyline along the Pareto front."""
    rows: Sequence[tuple[float, str]]
    """Height and text of each line of the grid."""
    columns: Sequence[tuple[float, str]]
    is_logarithmic: bool


def interval_bar(found: Interval | None) -> IntervalBar | None:
    """Return the bar of an accuracy."""
    if found is None:
        return None
    return IntervalBar(
        *(round(BAR_WIDTH * part, 1) for part in (found.low, found.value, found.high))
    )


def plot_of(systems: Sequence[SystemReport], product: int | None = None) -> Plot | None:
    """Return the plot of the systems with a known cost; None: there are too few.

    `product`: the place of the system that the report is about; None: of none.
    """
    known = [
        (number, system, system.cost_micros / system.ended)
        for number, system in enumerate(systems, start=1)
        if system.ended and not system.has_unknown_cost
    ]
    costs = [cost for _, _, cost in known]
    if len(known) < 2 or max(costs) <= 0:
        return None
    scale = _CostScale(costs)
    shares = ShareScale([s.accuracy for _, s, _ in known if s.accuracy])
    points = []
    for number, system, cost in known:
        accuracy = system.accuracy
        assert accuracy is not None  # some of its tasks have ended
        points.append(
            PlotPoint(
                number,
                number - 1,
                system.label,
                scale.x(cost),
                shares.y(accuracy.value),
                shares.y(accuracy.low),
                shares.y(accuracy.high),
                _is_on_front(cost, accuracy.value, known),
                number - 1 == product,
                gettext("{system}: {accuracy}, {cost} for {tasks} tasks").format(
                    system=system.label,
                    accuracy=f"{accuracy.value:.3f}",
                    cost=f"${usd_text(round(cost * PER_TASKS))}",
                    tasks=f"{PER_TASKS:,}",
                ),
            )
        )
    front = sorted((p for p in points if p.is_best), key=lambda p: (p.x, -p.y))
    return Plot(
        sorted(_apart(points), key=lambda p: p.is_product),
        " ".join(f"{p.x},{p.y}" for p in front),
        shares.rows(),
        scale.columns(),
        scale.is_logarithmic,
    )


def _apart(points: Sequence[PlotPoint]) -> list[PlotPoint]:
    """Return the points with numbers that do not cover each other.

    The product's stands at its point, then those of the front, from left to right.
    """
    placed: list[PlotPoint] = []
    for point in sorted(points, key=lambda p: (not p.is_product, not p.is_best, p.x)):
        step = MARK if point.x < WIDTH / 2 else -MARK
        x, y = point.x, point.y
        while any(abs(x - p.mark_x) < MARK and abs(y - p.y) < MARK for p in placed):
            x += step
        placed.append(replace(point, mark_x=round(x, 1)))
    return placed


def _is_on_front(
    cost: float, value: float, known: Sequence[tuple[int, SystemReport, float]]
) -> bool:
    for _, other, other_cost in known:
        other_value = other.right / other.ended
        is_as_good = other_cost <= cost and other_value >= value
        if is_as_good and (other_cost < cost or other_value > value):
            return False
    return True


class ShareScale:
    """From a share to a height; it begins below the lowest interval."""

    def __init__(self, shares: Sequence[Interval]) -> None:
        lowest = min(share.low for share in shares)
        self._low = min(int(lowest * QUARTERS), QUARTERS - 1) / QUARTERS

    def y(self, share: float) -> float:
        part = (share - self._low) / (1 - self._low)
        return round(TOP + (1 - part) * (HEIGHT - TOP - BOTTOM), 1)

    def rows(self) -> list[tuple[float, str]]:
        step = (1 - self._low) / QUARTERS
        lines = [self._low + n * step for n in range(QUARTERS + 1)]
        return [(self.y(share), f"{share:.2f}") for share in lines]


class _CostScale:
    """From a cost in micro-dollars to a place along the axis."""

    def __init__(self, costs: Sequence[float]) -> None:
        least = min(cost for cost in costs if cost > 0)
        self.is_logarithmic = max(costs) / least > WIDE_SCALE
        self._low = least if self.is_logarithmic else 0.0
        self._high = max(costs)

    def x(self, cost: float) -> float:
        width = WIDTH - LEFT - RIGHT
        return round(LEFT + self._part(cost) * width, 1)

    def columns(self) -> list[tuple[float, str]]:
        parts = (0.0, 0.25, 0.5, 0.75, 1.0)
        return [
            (round(LEFT + part * (WIDTH - LEFT - RIGHT), 1), self._text(part))
            for part in parts
        ]

    def _part(self, cost: float) -> float:
        if not self.is_logarithmic:
            return cost / self._high
        span = log10(self._high) - log10(self._low)
        return (log10(max(cost, self._low)) - log10(self._low)) / span

    def _text(self, part: float) -> str:
        cost = self._low + part * (self._high - self._low)
        if self.is_logarithmic:
            cost = self._low * (self._high / self._low) ** part
        return f"${cost * PER_TASKS / MICROS:.2g}"
