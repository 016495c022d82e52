"""Marks days that differ from the days before them, with words that say why. Pure.

A day is compared with the median of the 28 days before, in units of their median
absolute deviation, which a few odd days do not move. Only what got worse is marked.
Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993): the modified
z-score with 0.6745, and 3.5 as its bound. We add a least deviation, so that a series
that never moved does not mark the slightest change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import sqrt
from statistics import fmean, median
from typing import Literal

from apps.insights.types import QueryFigures

Measure = Literal["cost", "failures", "latency"]
MEASURES: tuple[Measure, ...] = ("cost", "failures", "latency")
LOOKBACK = timedelta(days=28)
ENOUGH_DAYS = 7
"""Days with runs before it that a day needs to be compared."""
ENOUGH_RUNS = 5
"""Runs that a day needs to count at all."""
BOUND = 3.5
SCALE = 0.6745
"""The median absolute deviation of normal values, in standard deviations."""
LEAST_DEVIATION = 0.05
"""In parts of the median."""
LEAST_SHARE = 0.02
"""Of failures: two in a hundred runs more are no anomaly."""
ENOUGH_FAILURES = 2
"""One alone is none, however few runs there are."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A day that got worse in one measure."""

    day: date
    measure: Measure
    value: float
    """Micro-dollars a run, a share, or milliseconds."""
    usual: float
    """The median of the days before."""
    score: float
    """How far beside it, in robust standard deviations."""
    days: int
    """How many days before were compared."""


def anomalies_of(days: Iterable[QueryFigures], first: date) -> list[Anomaly]:
    """Return the anomalies from a day on; `days` begin as far before as is known."""
    counted = {
        date.fromisoformat(row.key): row for row in days if row.runs >= ENOUGH_RUNS
    }
    found = []
    for measure in MEASURES:
        series = _series(counted, measure)
        for day in sorted(each for each in series if each >= first):
            anomaly = _anomaly(counted[day], day, measure, series)
            if anomaly is not None:
                found.append(anomaly)
    return sorted(found, key=lambda each: (each.day, each.measure))


def robust_score(value: float, before: Sequence[float], least: float) -> float:
    """Return how far a value lies above the median of others; below: less than 0.

    `least`: the smallest deviation that is assumed.
    """
    middle = median(before)
    deviation = median(abs(each - middle) for each in before)
    return SCALE * (value - middle) / max(deviation, least)


def _series(
    counted: Mapping[date, QueryFigures], measure: Measure
) -> dict[date, float]:
    values = {day: _value(row, measure) for day, row in counted.items()}
    return {day: value for day, value in values.items() if value is not None}


def _value(row: QueryFigures, measure: Measure) -> float | None:
    match measure:
        case "cost":
            return row.cost_micros / row.runs
        case "failures":
            return row.failed / row.runs
        case "latency":
            return row.latency_ms.p95 if row.latency_ms else None


def _anomaly(
    row: QueryFigures, day: date, measure: Measure, series: Mapping[date, float]
) -> Anomaly | None:
    before = [value for at, value in series.items() if day - LOOKBACK <= at < day]
    if len(before) < ENOUGH_DAYS:
        return None
    usual = median(before)
    least = LEAST_DEVIATION * usual
    if measure == "failures":
        if row.failed < ENOUGH_FAILURES:
            return None
        least = max(LEAST_SHARE, _chance(fmean(before), row.runs))
    score = robust_score(series[day], before, max(least, 1e-9))
    if score <= BOUND:
        return None
    return Anomaly(day, measure, series[day], usual, score, len(before))


def _chance(share: float, runs: int) -> float:
    """Return the standard deviation of a share of so many runs by chance alone."""
    return sqrt(share * (1 - share) / runs)
