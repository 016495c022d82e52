"""Subtasks with the same words, counted with what came of their runs. Pure.

Two subtasks have the same words if they differ in case, blanks, numbers and quotations
only: those are of one question, the rest is how a planner asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from apps.evaluation.reports.statistics import Interval, share
from apps.planners.light.logged_runs import StepRole

MAX_TEXT_CHARS = 1000
"""Of a subtask, the rest is left out."""
MAX_GROUPS = 20_000
"""Different texts that are counted; bounds the memory."""
RIGHT_ABOVE = 0.5
"""A grade above this is a right answer."""
_QUOTED = re.compile(r"«[^«»]*»|“[^“”]*”|\"[^\"]*\"|`[^`]*`")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def general_words(subtask: str) -> str:
    """Return a subtask in one line, … for each quotation and # for each number."""
    bare = _NUMBER.sub("#", _QUOTED.sub("…", subtask))
    return " ".join(bare.split())[:MAX_TEXT_CHARS]


@dataclass(frozen=True, slots=True)
class SubtaskUse:
    """A subtask of one run: a step, or several with the same words."""

    role: StepRole
    family: str
    """Of the run. Empty: it has none."""
    text: str
    """As of `general_words`."""
    planner: str
    """Who wrote it."""
    grade: float
    """Of the run's answer, from 0 to 1."""
    cost_micros: int | None
    """Of its steps together. None: a part is unknown."""


@dataclass(frozen=True, slots=True)
class SubtaskOutcome:
    """How often the answer was right where steps were asked in these words."""

    role: StepRole
    family: str
    text: str
    planners: tuple[str, ...]
    """Who wrote it, in order."""
    uses: int
    """Runs."""
    right: int
    """Runs whose answer was right."""
    success: Interval
    """Share of right answers; see `statistics.share`."""
    mean_cost_micros: int | None
    """Of its steps in a run. None: unknown for all runs."""


@dataclass(slots=True)
class _Group:
    text: str
    planners: set[str] = field(default_factory=set)
    uses: int = 0
    right: int = 0
    cost_micros: int = 0
    priced: int = 0


class SubtaskCounts:
    """Outcomes of the uses that it has been given, in any number."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, str], _Group] = {}
        self.is_full = False
        """True: texts were left out, because there were too many different ones."""

    def add(self, uses: Iterable[SubtaskUse]) -> None:
        """Count the uses of one run, each of other words."""
        for use in uses:
            key = use.role.value, use.family, use.text.casefold()
            group = self._groups.get(key)
            if group is None:
                if len(self._groups) >= MAX_GROUPS:
                    self.is_full = True
                    continue
                group = self._groups[key] = _Group(use.text)
            _count(group, use)

    @property
    def texts(self) -> int:
        """Return how many different texts there are, by role and family."""
        return len(self._groups)

    def outcomes(self, *, fewest: int) -> list[SubtaskOutcome]:
        """Return those with `fewest` uses or more.

        By family and role; the ones that are surely best come first.
        """
        found = [
            _outcome(StepRole(role), family, group)
            for (role, family, _), group in self._groups.items()
            if group.uses >= fewest
        ]
        return sorted(found, key=_order)


def _count(group: _Group, use: SubtaskUse) -> None:
    group.planners.add(use.planner)
    group.uses += 1
    group.right += use.grade > RIGHT_ABOVE
    if use.cost_micros is not None:
        group.cost_micros += use.cost_micros
        group.priced += 1


def _outcome(role: StepRole, family: str, group: _Group) -> SubtaskOutcome:
    success = share(group.right, group.uses)
    assert success is not None  # each group has a use
    mean = round(group.cost_micros / group.priced) if group.priced else None
    planners = tuple(sorted(group.planners))
    counts = group.uses, group.right, success, mean
    return SubtaskOutcome(role, family, group.text, planners, *counts)


def _order(outcome: SubtaskOutcome) -> tuple[str, int, float, str]:
    place = list(StepRole).index(outcome.role)
    return outcome.family, place, -outcome.success.low, outcome.text
