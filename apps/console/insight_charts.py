"""Charts of days as shapes for SVG: bars, and lines of percentiles.

In the manner of `chart.py`: the server draws, and a table behind each chart says the
same in figures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.utils.dateformat import format as format_date
from django.utils.translation import gettext

SLOT = 10
"""Width of a day in the picture's own units; the picture is stretched to its frame."""
BAR = 7
HEIGHT = 100
STEPS = (1, 2, 4, 6, 8, 10)
"""A scale ends at one of these times a power of ten."""
TREND_HEIGHT = 16
NO_SCALE = ("", "–", "")
"""Of a chart without a value: "2 ms" would be nobody's."""


@dataclass(frozen=True, slots=True)
class DayMark:
    """One day of a chart."""

    left: int
    """Where the day begins."""
    x: int
    """Where its bar begins."""
    top: float
    height: float
    words: str
    is_odd: bool
    """It stands out from the days before."""


@dataclass(frozen=True, slots=True)
class DayChart:
    """Days on a scale, as bars or as lines."""

    name: str
    """Of the chart in addresses within the page."""
    title: str
    unit: str
    days: Sequence[date]
    marks: Sequence[DayMark]
    """Bars, or the places that show a day's figures beside the lines."""
    lines: Sequence[tuple[str, str]]
    """Name and points of each line; none: the days are bars."""
    scale: tuple[str, str, str]
    """What the lines at the top, in the middle and at the bottom stand for."""

    @property
    def width(self) -> int:
        """Return the width of the picture."""
        return SLOT * len(self.days)

    @property
    def middle_day(self) -> date:
        """Return the day in the middle."""
        return self.days[len(self.days) // 2]


@dataclass(frozen=True, slots=True)
class DayScale:
    """How values of days are drawn and written."""

    first: date
    last: date
    write: Callable[[int], str]

    @property
    def days(self) -> list[date]:
        """Return the days from the first to the last."""
        return [
            self.first + timedelta(n) for n in range((self.last - self.first).days + 1)
        ]


def bar_chart(
    name: str,
    title: str,
    unit: str,
    scale: DayScale,
    values: Mapping[date, int | None],
    odd: Collection[date] = (),
) -> DayChart:
    """Return a chart of one value a day; days without one have no bar."""
    top = round_up(max((value or 0 for value in values.values()), default=0))
    marks = []
    for number, day in enumerate(scale.days):
        value = values.get(day)
        height = round(HEIGHT * (value or 0) / top, 2)
        told = gettext("no run") if value is None else scale.write(value)
        marks.append(
            DayMark(
                SLOT * number,
                SLOT * number + (SLOT - BAR) // 2,
                round(HEIGHT - height, 2),
                height,
                f"{format_date(day, 'j M Y')}: {told}",
                day in odd,
            )
        )
    is_empty = all(value is None for value in values.values())
    axis = NO_SCALE if is_empty else _scale(top, scale)
    return DayChart(name, title, unit, scale.days, marks, (), axis)


def line_chart(
    name: str,
    title: str,
    unit: str,
    scale: DayScale,
    lines: Mapping[str, Mapping[date, int]],
    odd: Collection[date] = (),
) -> DayChart:
    """Return a chart of several values a day; a day without them breaks no line."""
    highest = (value for line in lines.values() for value in line.values())
    top = round_up(max(highest, default=0))
    marks = []
    for number, day in enumerate(scale.days):
        told = [
            f"{label} {scale.write(line[day])}"
            for label, line in lines.items()
            if day in line
        ]
        words = f"{format_date(day, 'j M Y')}: {', '.join(told) or gettext('no run')}"
        left = SLOT * number
        marks.append(DayMark(left, left, 0, 0, words, day in odd))
    drawn = [(label, _points(line, scale, top)) for label, line in lines.items()]
    axis = _scale(top, scale) if any(lines.values()) else NO_SCALE
    return DayChart(name, title, unit, scale.days, marks, drawn, axis)


def trend(by_day: Mapping[date, int], first: date, last: date) -> str:
    """Return the points of a small line of counts by day."""
    days = (last - first).days + 1
    top = max(by_day.values(), default=0) or 1
    counts = (by_day.get(first + timedelta(n), 0) for n in range(days))
    return " ".join(
        f"{n},{round(TREND_HEIGHT * (1 - count / top), 1):g}"
        for n, count in enumerate(counts)
    )


def round_up(value: int) -> int:
    """Return the end of a scale for values up to this one, with a whole middle."""
    value = max(value, 2)
    power = 1
    while power * 10 < value:
        power *= 10
    return next(power * step for step in STEPS if power * step >= value)


def _points(line: Mapping[date, int], scale: DayScale, top: int) -> str:
    """Return the points of a line; one day alone becomes a short one."""
    places: list[str] = []
    for day in sorted(line):
        middle = SLOT * (day - scale.first).days + SLOT // 2
        y = f"{round(HEIGHT * (1 - line[day] / top), 2):g}"
        wide = (middle - 2, middle + 2) if len(line) == 1 else (middle,)
        places += [f"{x},{y}" for x in wide]
    return " ".join(places)


def _scale(top: int, scale: DayScale) -> tuple[str, str, str]:
    highest, middle, lowest = (scale.write(value) for value in (top, top // 2, 0))
    # Both below what is shown, such as <$0.0001: they would tell nothing.
    return ("", "", lowest) if highest == middle else (highest, middle, lowest)


def known(values: Iterable[tuple[date, int | None]]) -> dict[date, int]:
    """Return the days that have a value."""
    return {day: value for day, value in values if value is not None}
