"""What an evaluation found, from its results: systems compared on the same tasks.

A run that failed counts as not right, and is listed by its cause. Differences compare
tasks that both systems have ended, and so hold while an evaluation is in progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, starmap

from apps.evaluation.models import GRADED, Evaluation, EvaluationResult
from apps.evaluation.reports.result_workers import result_workers
from apps.evaluation.reports.statistics import Interval, paired_difference, share
from apps.evaluation.reports.system_report import OPEN, RIGHT, ResultRow, SystemReport
from apps.evaluation.selectors import results_of
from apps.evaluation.settings import EvaluationSettings

ROWS_AT_ONCE = 2_000
COLUMNS = tuple(
    "task__family" if name == "family" else name for name in ResultRow._fields
)


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

    @property
    def families(self) -> list[str]:
        """Return the families of which a task has ended, by name."""
        return sorted({name for system in self.systems for name in system.families})


def report_make(evaluation: Evaluation) -> Report:
    """Return the report of an evaluation, as far as it is."""
    settings = EvaluationSettings.model_validate(evaluation.settings)
    count = len(settings.systems)
    tasks = results_of(evaluation).count() // count
    systems = tuple(
        SystemReport(label=system.label, kind=system.kind, marks=bytearray(tasks))
        for system in settings.systems
    )
    families = [""] * tasks
    for rows in _parts(evaluation):
        workers = result_workers(evaluation.team_id, [row.run_id for row in rows])
        for row in rows:
            task = row.place // count
            families[task] = row.family
            systems[row.system].note(row, task, row.workers or workers[row.run_id])
    best = _best_single(systems)
    oracle = bytearray(map(max, zip(*(s.marks for s in systems), strict=True)))
    for system in systems:
        system.oracle_difference = _paired(system.marks, oracle, families)[None]
        if best is not None and best is not system:
            found = _paired(system.marks, best.marks, families)
            system.difference = found[None]
            for name, figures in system.families.items():
                figures.difference = found.get(name)
    solved = share(oracle.count(RIGHT), tasks - oracle.count(OPEN))
    return Report(evaluation, settings, tasks, systems, best, solved)


def _parts(evaluation: Evaluation) -> Iterator[list[ResultRow]]:
    """Yield the results that have ended in their order, many at once."""
    ended = results_of(evaluation).filter(state__in=GRADED).order_by("place")
    values = ended.values_list(*COLUMNS).iterator(chunk_size=ROWS_AT_ONCE)
    rows = starmap(ResultRow, values)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield some


def _best_single(systems: Sequence[SystemReport]) -> SystemReport | None:
    singles = [s for s in systems if s.kind == "worker" and s.ended]
    return max(
        singles,
        key=lambda s: (s.right / s.ended, -s.cost_micros / s.ended),
        default=None,
    )


def _paired(
    first: bytearray, second: bytearray, families: Sequence[str]
) -> dict[str | None, Interval | None]:
    """Return the difference of two accuracies: of each family, and at None of all.

    It is that of the tasks that both have ended.
    """
    pairs = Counter(
        (family, a == RIGHT, b == RIGHT)
        for family, a, b in zip(families, first, second, strict=True)
        if a != OPEN and b != OPEN
    )
    every: Counter[tuple[str | None, bool, bool]] = Counter(pairs)
    for (_, a, b), count in pairs.items():
        every[None, a, b] += count
    return {
        name: paired_difference(
            every[name, True, True],
            every[name, True, False],
            every[name, False, True],
            every[name, False, False],
        )
        for name in {None, *(family for family, _, _ in pairs)}
    }


def result_rows(evaluation: Evaluation) -> Iterator[EvaluationResult]:
    """Yield every result with its task, in order, without holding all of them."""
    rows = results_of(evaluation).select_related("task").order_by("place")
    yield from rows.iterator(chunk_size=ROWS_AT_ONCE)
