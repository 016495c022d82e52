"""Accuracies in two evaluations as lines from the earlier one to the later one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from apps.console.evaluations.evaluation_plot import BOTTOM, HEIGHT, TOP, ShareScale
from apps.evaluation.reports.comparison import SystemComparison

LEFT_X, RIGHT_X = 200, 440
"""Where the two evaluations stand, in the units of the `viewBox`."""
GAP = 16.0
"""Numbers of systems are at least so far apart."""


@dataclass(frozen=True, slots=True)
class Slope:
    """One system."""

    number: int
    """From 1, as in the table."""
    left_y: float
    right_y: float
    left_number_y: float
    right_number_y: float
    direction: str
    """better or worse, beyond chance; or same."""
    words: str


@dataclass(frozen=True, slots=True)
class SlopeChart:
    """All systems that both evaluations have run on the same tasks."""

    slopes: Sequence[Slope]
    rows: Sequence[tuple[float, str]]
    """Height and text of each line of the grid."""


def slope_chart(systems: Sequence[SystemComparison]) -> SlopeChart | None:
    """Return the chart; None: no task has ended in both."""
    known = [
        (number, each, each.earlier, each.later)
        for number, each in enumerate(systems, start=1)
        if each.earlier and each.later
    ]
    if not known:
        return None
    scale = ShareScale([share for _, _, *both in known for share in both if share])
    left = [scale.y(earlier.value) for _, _, earlier, _ in known]
    right = [scale.y(later.value) for *_, later in known]
    slopes = [
        Slope(
            number,
            left_y,
            right_y,
            left_number,
            right_number,
            _direction(each),
            gettext("{system}: {earlier}, then {later}").format(
                system=each.label,
                earlier=f"{earlier.value:.3f}",
                later=f"{later.value:.3f}",
            ),
        )
        for (
            number,
            each,
            earlier,
            later,
        ), left_y, right_y, left_number, right_number in zip(
            known, left, right, _apart(left), _apart(right), strict=True
        )
    ]
    return SlopeChart(slopes, scale.rows())


def _direction(system: SystemComparison) -> str:
    found = system.difference
    if found is None or found.low <= 0 <= found.high:
        return "same"
    return "better" if found.low > 0 else "worse"


def _apart(heights: Sequence[float]) -> list[float]:
    """Return heights near these, none of which hides another one."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    found = list(heights)
    lowest = HEIGHT - BOTTOM - GAP * len(order)
    previous = TOP - GAP
    for rank, place in enumerate(order):
        end = max(lowest + GAP * (rank + 1), previous + GAP)
        previous = found[place] = min(max(heights[place], previous + GAP), end)
    return found
