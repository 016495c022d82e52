"""Steps and workers of each family as stacked bars, with the figures behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.console.evaluations.evaluation_plot import PER_TASKS
from apps.evaluation.reports.system_report import Figures, SystemReport

SHADES = 6
"""Colours of workers; those after the last share it."""
BAR_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Segment:
    """What one worker did of a bar."""

    worker: str
    x: float
    width: float
    shade: int
    """From 1 to `SHADES`."""
    words: str


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family of one system: its bar, and its figures."""

    name: str
    figures: Figures
    segments: Sequence[Segment]

    @property
    def cost_micros(self) -> int:
        """Return what 1,000 tasks cost at the mean cost of a task."""
        return round(PER_TASKS * self.figures.cost_micros / max(self.figures.ended, 1))

    @property
    def tokens(self) -> int:
        """Return the mean tokens of a task."""
        return round(self.figures.tokens / max(self.figures.ended, 1))

    @property
    def steps(self) -> float:
        """Return the mean steps of a task."""
        return self.figures.steps / max(self.figures.ended, 1)

    @property
    def median_ms(self) -> int:
        """Return the median time of a task."""
        return self.figures.latency_ms(50) or 0

    @property
    def shares(self) -> Sequence[tuple[str, int]]:
        """Return who did how much of the steps, in percent."""
        return percents(self.figures)


@dataclass(frozen=True, slots=True)
class FamilyBars:
    """The bars of all systems, to one scale."""

    systems: Sequence[Sequence[FamilyRow]]
    """Families of each system, in the order of the report."""
    workers: Sequence[tuple[str, int]]
    """Each worker with its shade, those with the most steps first."""


def percents(figures: Figures) -> list[tuple[str, int]]:
    """Return who did how much of the steps, in percent, the largest share first."""
    found = sorted(figures.shares.items(), key=lambda item: -item[1])
    return [(worker, round(100 * part)) for worker, part in found if part >= 0.005]


def family_bars(systems: Sequence[SystemReport]) -> FamilyBars:
    """Return the bars of a report."""
    every = sum((system.workers for system in systems), Counter[str]())
    shades = {
        worker: min(place, SHADES)
        for place, (worker, _) in enumerate(every.most_common(), start=1)
    }
    longest = max(
        (_steps(f) for system in systems for f in system.families.values()), default=0
    )
    rows = [
        [
            FamilyRow(name, figures, _segments(figures, shades, longest))
            for name, figures in sorted(system.families.items())
        ]
        for system in systems
    ]
    return FamilyBars(rows, list(shades.items()))


def _steps(figures: Figures) -> float:
    return figures.workers.total() / figures.ended


def _segments(
    figures: Figures, shades: Mapping[str, int], longest: float
) -> list[Segment]:
    found, x = [], 0.0
    for worker in (name for name in shades if figures.workers[name]):
        steps = figures.workers[worker] / figures.ended
        width = BAR_WIDTH * steps / longest
        words = _("{worker}: {steps} steps of a task")
        found.append(
            Segment(
                worker,
                round(x, 2),
                round(width, 2),
                shades[worker],
                words.format(worker=worker, steps=f"{steps:.2f}"),
            )
        )
        x += width
    return found
