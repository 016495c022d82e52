"""What one system did in an evaluation: sums, shares and times, also by family."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from apps.core.percentiles import percentile
from apps.evaluation.models import ResultState
from apps.evaluation.reports.statistics import Interval, share

OPEN, NOT_RIGHT, RIGHT = 0, 1, 2
"""Marks of tasks. The greatest of several is what they come to together."""


class ResultRow(NamedTuple):
    """A result that has ended, as it is read from the database."""

    place: int
    system: int
    run_id: UUID
    state: str
    family: str
    cause: str
    tokens: int
    cost_micros: int
    grading_cost_micros: int
    has_unknown_cost: bool
    latency_ms: int
    steps: int
    is_unplanned: bool
    rejected_plans: int
    plan_faults: Mapping[str, int]
    workers: Sequence[str] | None
    """Of an imported result. None: they are those of the steps of its run."""


@dataclass(slots=True)
class Figures:
    """Sums of the tasks that a system has ended: of all, or of one family."""

    ended: int = 0
    right: int = 0
    tokens: int = 0
    """Input and output, the conductor's included."""
    cost_micros: int = 0
    has_unknown_cost: bool = False
    steps: int = 0
    latencies_ms: array[int] = field(default_factory=lambda: array("Q"))
    workers: Counter[str] = field(default_factory=Counter)
    """Steps of each worker, skipped ones left out."""
    difference: Interval | None = None
    """Of the accuracy, to the best single worker."""

    def add(self, row: ResultRow, workers: Sequence[str]) -> None:
        """Count a result, and the workers of its steps."""
        self.ended += 1
        self.right += row.state == ResultState.RIGHT
        self.tokens += row.tokens
        self.cost_micros += row.cost_micros
        self.has_unknown_cost |= row.has_unknown_cost
        self.steps += row.steps
        self.latencies_ms.append(row.latency_ms)
        self.workers.update(workers)

    @property
    def accuracy(self) -> Interval | None:
        """Return the share of tasks that were right; None: none has ended."""
        return share(self.right, self.ended)

    @property
    def shares(self) -> dict[str, float]:
        """Return the share of each worker in the steps, by name."""
        total = self.workers.total()
        return {name: self.workers[name] / total for name in sorted(self.workers)}

    def latency_ms(self, percent: int) -> int | None:
        """Return a percentile of the times that runs took; None: none has ended."""
        return percentile(self.latencies_ms, percent) if self.latencies_ms else None


@dataclass(slots=True)
class SystemReport(Figures):
    """What one system did."""

    label: str = ""
    kind: str = ""
    marks: bytearray = field(default_factory=bytearray)
    """For each task: OPEN, NOT_RIGHT or RIGHT."""
    failed: int = 0
    """Of those that are not right: their run has no answer."""
    grading_cost_micros: int = 0
    """Of the runs that judged its answers; not a part of its own cost."""
    unplanned: int = 0
    """Tasks whose plan could not be used, so that the fallback worker answered."""
    rejected_plans: int = 0
    """Calls of the conductor that led to no plan."""
    plan_faults: Counter[str] = field(default_factory=Counter)
    """Why they did not, with counts, as far as results have it."""
    causes: Counter[str] = field(default_factory=Counter)
    """Why runs have no answer, with counts."""
    families: dict[str, Figures] = field(default_factory=dict)
    oracle_difference: Interval | None = None
    """Of the accuracy, to the oracle."""

    def note(self, row: ResultRow, task: int, workers: Sequence[str]) -> None:
        """Count a result of the task in that place."""
        self.add(row, workers)
        self.families.setdefault(row.family, Figures()).add(row, workers)
        self.marks[task] = RIGHT if row.state == ResultState.RIGHT else NOT_RIGHT
        if row.state == ResultState.FAILED:
            self.failed += 1
            self.causes[row.cause] += 1
        self.grading_cost_micros += row.grading_cost_micros
        self.unplanned += row.is_unplanned
        self.rejected_plans += row.rejected_plans
        self.plan_faults.update(row.plan_faults)
