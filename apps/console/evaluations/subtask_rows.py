"""Compared subtasks as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.console.insight_rows import percent
from apps.training.selectors import SubtaskOutcome


@dataclass(frozen=True, slots=True)
class ShareWords:
    """A share of runs and the bounds of its interval, in percent."""

    value: str
    low: str
    high: str


def subtask_rows(
    outcomes: Sequence[SubtaskOutcome],
) -> list[tuple[SubtaskOutcome, ShareWords]]:
    """Return each outcome with its share in words."""
    return [(each, _words(each)) for each in outcomes]


def _words(outcome: SubtaskOutcome) -> ShareWords:
    found = outcome.success
    return ShareWords(percent(found.value), percent(found.low), percent(found.high))
