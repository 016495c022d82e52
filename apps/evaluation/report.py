"""What an evaluation found, from its results: systems compared on the same tasks.

A run that failed counts as not right, and is listed by its cause. Differences compare
tasks that both systems have ended, and so hold while an evaluation is in progress.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from django.db.models import Count

from apps.evaluation.models import GRADED, Evaluation, EvaluationResult, ResultState
from apps.evaluation.selectors import results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.statistics import Interval, paired_difference, share
from apps.runs.models import Step

OPEN, NOT_RIGHT, RIGHT = 0, 1, 2
ROWS_AT_ONCE = 2_000
COLUMNS = (
    "system",
    "state",
    "task__family",
    "cause",
    "tokens",
    "cost_micros",
    "grading_cost_micros",
    "has_unknown_cost",
    "latency_ms",
    "steps",
    "is_unplanned",
    "rejected_plans",
)


@dataclass(slots=True)
class SystemReport:
    """What one system did. Sums are of the tasks that it has ended."""

    label: str
    kind: str
    marks: bytearray
    """For each task: OPEN, NOT_RIGHT or RIGHT."""
    ended: int = 0
    right: int = 0
    failed: int = 0
    """Of those that are not right: their run has no answer."""
    tokens: int = 0
    """Input and output, the conductor's included."""
    cost_micros: int = 0
    grading_cost_micros: int = 0
    """Of the runs that judged its answers; not a part of its own cost."""
    has_unknown_cost: bool = False
    steps: int = 0
    unplanned: int = 0
    """Tasks whose plan could not be used, so that the fallback worker answered."""
    rejected_plans: int = 0
    latencies_ms: array[int] = field(default_factory=lambda: array("Q"))
    causes: Counter[str] = field(default_factory=Counter)
    """Why runs have no answer, with counts."""
    families: dict[str, list[int]] = field(default_factory=dict)
    """Of each family: tasks that were right, and tasks ended."""
    shares: dict[str, float] = field(default_factory=dict)
    """Of each worker: its share of the steps."""
    difference: Interval | None = None
    """Of the accuracy, to the best single worker."""

    @property
    def accuracy(self) -> Interval | None:
        """Return the share of tasks that were right; None: none has ended."""
        return share(self.right, self.ended)

    def latency_ms(self, percent: int) -> int | None:
        """Return a percentile of the times that runs took; None: none has ended."""
        if not self.latencies_ms:
            return None
        if len(self.latencies_ms) == 1:
            return self.latencies_ms[0]
        cuts = quantiles(self.latencies_ms, n=100, method="inclusive")
        return round(cuts[percent - 1])


@dataclass(frozen=True, slots=True)
class Report:
    """All systems of an evaluation, in the order of its settings."""

    evaluation: Evaluation
    settings: EvaluationSettings
    tasks: int
    systems: tuple[SystemReport, ...]
    best_single: SystemReport | None
    """The single worker with the highest accuracy, chosen in hindsight; of equal ones
    the cheapest. None: no single worker has ended a task."""
    oracle: Interval | None
    """Share of the tasks that at least one of these systems had right."""


def report_make(evaluation: Evaluation) -> Report:
    """Return the report of an evaluation, as far as it is."""
    settings = EvaluationSettings.model_validate(evaluation.settings)
    rows = results_of(evaluation)
    count = len(settings.systems)
    tasks = rows.count() // count
    systems = tuple(
        SystemReport(system.label, system.kind, bytearray(tasks))
        for system in settings.systems
    )
    ordered = rows.order_by("place").values_list("place", *COLUMNS)
    for place, system, *values in ordered.iterator(chunk_size=ROWS_AT_ONCE):
        _add(systems[system], place // count, *values)
    singles = [s for s in systems if s.kind == "worker" and s.ended]
    best = max(
        singles,
        key=lambda s: (s.right / s.ended, -s.cost_micros / s.ended),
        default=None,
    )
    for number, system in enumerate(systems):
        system.shares = _shares(evaluation, number)
        if best is not None and best is not system:
            system.difference = _difference(system, best)
    solved = sum(any(s.marks[n] == RIGHT for s in systems) for n in range(tasks))
    ended = sum(any(s.marks[n] != OPEN for s in systems) for n in range(tasks))
    return Report(evaluation, settings, tasks, systems, best, share(solved, ended))


def _add(system: SystemReport, task: int, *values: Any) -> None:
    given = dict(zip(COLUMNS[1:], values, strict=True))
    state = given["state"]
    if state not in GRADED:
        return
    is_right = state == ResultState.RIGHT
    system.marks[task] = RIGHT if is_right else NOT_RIGHT
    system.ended += 1
    system.right += is_right
    if state == ResultState.FAILED:
        system.failed += 1
        system.causes[given["cause"]] += 1
    system.tokens += given["tokens"]
    system.cost_micros += given["cost_micros"]
    system.grading_cost_micros += given["grading_cost_micros"]
    system.has_unknown_cost |= given["has_unknown_cost"]
    system.steps += given["steps"]
    system.unplanned += given["is_unplanned"]
    system.rejected_plans += given["rejected_plans"]
    system.latencies_ms.append(given["latency_ms"])
    counts = system.families.setdefault(given["task__family"], [0, 0])
    counts[0] += is_right
    counts[1] += 1


def _difference(first: SystemReport, second: SystemReport) -> Interval | None:
    pairs = Counter(
        (a == RIGHT, b == RIGHT)
        for a, b in zip(first.marks, second.marks, strict=True)
        if a != OPEN and b != OPEN
    )
    return paired_difference(
        pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]
    )


def _shares(evaluation: Evaluation, system: int) -> dict[str, float]:
    runs = results_of(evaluation).filter(system=system).values("run_id")
    steps = Step.objects.for_team(evaluation.team_id).filter(run_id__in=runs)
    counts = steps.exclude(state="skipped").values_list("worker")
    found: dict[str, int] = dict(counts.annotate(count=Count("id")))
    total = sum(found.values())
    return {worker: found[worker] / total for worker in sorted(found)}


def result_rows(evaluation: Evaluation) -> Iterator[EvaluationResult]:
    """Yield every result with its task, in order, without holding all of them."""
    rows = results_of(evaluation).select_related("task").order_by("place")
    yield from rows.iterator(chunk_size=ROWS_AT_ONCE)
