"""Where a training of a conductor stands, as its row keeps it. Pure.

`progress` is the newest point of the curve with more: `of` (steps of the stage),
`left_s` (seconds until the stage ends, as it went so far; null at its beginning) and,
of the conductor's own plans, `workers` (share of the steps that each worker got, by
family of tasks) and `failed` (plans of which nothing is known, as a worker failed).

A point of the curve has `stage` and `step`; of examples also `loss`; of own plans also
`reward`, `entropy`, `length` (tokens of a reply), `validity` (share of replies that are
plans), `accuracy` (share of right answers), `steps` (of a plan) and `cost_micros` (of
all runs so far). Of learning to plan once more also `kept` (share of replies that keep
an answer, which are in validity and accuracy too).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_POINTS = 400
"""Of one stage; with more, every other one goes."""
Point = dict[str, Any]


@dataclass
class PlanTally:
    """Counts the plans of an iteration."""

    replies: int = 0
    plans: int = 0
    kept: int = 0
    steps: int = 0
    graded: int = 0
    right: float = 0.0
    failed: int = 0
    _workers: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def add_reply(self) -> None:
        """Count a reply that is no plan."""
        self.replies += 1

    def add_plan(
        self, family: str, workers: Sequence[str], grade: float | None
    ) -> None:
        """Count a plan; `grade` None: a worker failed."""
        self.replies += 1
        self.plans += 1
        self.steps += len(workers)
        self._workers[family].update(workers)
        if grade is None:
            self.failed += 1
        else:
            self._add_grade(grade)

    def add_kept(self, grade: float) -> None:
        """Count a reply that keeps an answer."""
        self.replies += 1
        self.kept += 1
        self._add_grade(grade)

    def values(self) -> Point:
        """Return what points and progress hold of it."""
        return {
            "validity": _share(self.plans + self.kept, self.replies),
            "accuracy": _share(self.right, self.graded),
            "steps": _share(self.steps, self.plans),
            "kept": _share(self.kept, self.replies),
            "failed": self.failed,
            "workers": {f: _shares(found) for f, found in self._workers.items()},
        }

    def _add_grade(self, grade: float) -> None:
        self.graded += 1
        self.right += grade


def curve_with(curve: Iterable[Point], point: Mapping[str, Any]) -> list[Point]:
    """Return a curve with a point more; one of the same step is replaced."""
    stage, step = point["stage"], point["step"]
    others = [each for each in curve if each["stage"] != stage]
    own = [each for each in curve if each["stage"] == stage and each["step"] < step]
    if len(own) >= MAX_POINTS:
        own = own[::2]
    return [*others, *own, dict(point)]


def seconds_left(step: int, of: int, first: int, seconds: float) -> int | None:
    """Return how long the rest takes if it goes on as it did since step `first`."""
    done = step - first
    return round(seconds / done * (of - step)) if done > 0 else None


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _shares(found: Counter[str]) -> dict[str, float]:
    total = found.total()
    return {name: round(count / total, 4) for name, count in found.most_common()}
