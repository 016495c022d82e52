"""A bar chart of days as shapes for SVG. The server draws; no script is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from apps.runs.types import UsageRow

SLOT = 10
"""Width of a day in the picture's own units; the picture is stretched to its frame."""
BAR = 7
HEIGHT = 100
STEPS = (1, 2, 4, 6, 8, 10)
"""A scale ends at one of these times a power of ten."""


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One day."""

    day: date
    usage: UsageRow | None
    """None: nothing ran."""
    left: int
    """Where the day begins."""
    x: int
    """Where its bar begins."""
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars and the scale they are drawn to."""

    bars: Sequence[ChartBar]
    top_micros: int
    width: int

    @property
    def middle_micros(self) -> int:
        """Return what the line in the middle stands for."""
        return self.top_micros // 2

    @property
    def first_day(self) -> date:
        """Return the day on the left."""
        return self.bars[0].day

    @property
    def middle_day(self) -> date:
        """Return the day in the middle."""
        return self.bars[len(self.bars) // 2].day

    @property
    def last_day(self) -> date:
        """Return the day on the right."""
        return self.bars[-1].day

    @property
    def is_empty(self) -> bool:
        """Say whether nothing was spent at all."""
        return not any(bar.usage and bar.usage.cost_micros for bar in self.bars)


def chart_of(rows: Sequence[UsageRow], first: date, last: date) -> Chart:
    """Return the chart of the days from `first` to `last`, both included."""
    by_day = {row.label: row for row in rows}
    days = [first + timedelta(n) for n in range((last - first).days + 1)]
    top = _round_up(max((row.cost_micros for row in rows), default=0))
    bars = [
        _bar(n, day, by_day.get(day.isoformat()), top) for n, day in enumerate(days)
    ]
    return Chart(bars, top, SLOT * len(days))


def _bar(number: int, day: date, usage: UsageRow | None, top: int) -> ChartBar:
    micros = usage.cost_micros if usage else 0
    height = round(HEIGHT * micros / top, 2)
    left = SLOT * number
    x = left + (SLOT - BAR) // 2
    return ChartBar(day, usage, left, x, round(HEIGHT - height, 2), height)


def _round_up(micros: int) -> int:
    micros = max(micros, 2)
    power = 1
    while power * 10 < micros:
        power *= 10
    return next(power * step for step in STEPS if power * step >= micros)
