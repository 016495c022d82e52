"""What the largest measurement of a pool's planner says, at a glance.

It compares what plans now with the best single worker on the same tasks, and names
tasks on which that made the difference. They are chosen by a rule, never by hand: in
the order of the suite, the first one of each family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.db.models import Q

from apps.audit.models import JobState
from apps.core.errors import SecretUnreadable
from apps.evaluation.models import (
    Evaluation,
    EvaluationOutcome,
    EvaluationResult,
    StoredTask,
)
from apps.evaluation.reports.report import Report, report_make
from apps.evaluation.reports.result_workers import result_workers
from apps.evaluation.reports.statistics import Interval
from apps.evaluation.reports.system_report import RIGHT, Figures, SystemReport
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.storage import task_read
from apps.evaluation.systems.tier import TierSystem
from apps.pools.models import PlannerVersion, Pool
from apps.pools.selectors import pool_list

MAX_LOOKED_AT = 30
"""Evaluations with the most results, among which the largest one is looked for."""
MAX_KEPT = 16
"""Headlines in memory; an evaluation that has ended never changes."""
MAX_TELLING = 6
PER_TASKS = 1_000
"""Tasks whose cost is told."""


@dataclass(frozen=True, slots=True)
class HeadlineSystem:
    """One system in short."""

    label: str
    accuracy: Interval
    cost_micros: int
    """Of 1,000 tasks."""
    has_unknown_cost: bool

    @property
    def right_cost_micros(self) -> int | None:
        """Return what 1,000 right answers cost; None: it had none."""
        share = self.accuracy.value
        return round(self.cost_micros / share) if share else None


@dataclass(frozen=True, slots=True)
class TellingTask:
    """A task on which conducting was right, and the best single worker was not."""

    prompt: str
    family: str
    workers: tuple[str, ...]
    """Of the steps of the plan that was right; empty: no longer known."""


@dataclass(frozen=True, slots=True)
class Headline:
    """What conducting brings, on the tasks of one evaluation."""

    evaluation_id: UUID
    measured_at: datetime
    pool: str
    is_simulated: bool
    tasks: int
    place: int
    """Of what conducts, in the settings of the evaluation."""
    conducted: HeadlineSystem
    single: HeadlineSystem
    """The best single worker, chosen in hindsight."""
    worker: str
    """Its name."""
    reflected: HeadlineSystem | None
    """Self-reflection. None: it was not measured."""
    difference: Interval
    """Of the accuracy, conducting less the best single worker."""
    gained: int
    """Tasks that conducting had right and the best single worker had not."""
    lost: int
    """Tasks that the best single worker had right and conducting had not."""
    telling: tuple[TellingTask, ...]

    @property
    def unhelped_percent(self) -> int:
        """Return the share of tasks on which conducting did not help, in percent."""
        return round(100 * (1 - self.gained / self.tasks))

    @property
    def cost_ratio(self) -> float | None:
        """Return the cost in relation to the best single worker's, if that has one."""
        if self.conducted.has_unknown_cost or self.single.has_unknown_cost:
            return None
        if not self.single.cost_micros:
            return None
        return self.conducted.cost_micros / self.single.cost_micros

    @property
    def is_better(self) -> bool:
        """Say whether conducting is right more often, beyond chance."""
        return self.difference.low > 0


@dataclass(frozen=True, slots=True)
class Measurement:
    """An evaluation that compares what plans with single workers."""

    evaluation: Evaluation
    place: int
    """Of what plans, in the settings of the evaluation."""
    tasks: int


def headline(team_id: UUID) -> Headline | None:
    """Return what the largest measurement of the default pool's planner says.

    None: what plans now was not compared with a single worker.
    """
    pool = pool_list(team_id).filter(is_default=True).first()
    if pool is None:
        return None
    found = largest_measurement(pool)
    if found is None:
        return None
    return _headline(found.evaluation.id, team_id, found.place)


def largest_measurement(pool: Pool) -> Measurement | None:
    """Return the evaluation of what plans with the most tasks; of equals, the newest.

    So a quick look on a few tasks never takes the place of a thorough one. None: what
    plans was not compared with a single worker.
    """
    measurements = _measurements(pool, pool.planner_version)
    return max(
        measurements, key=lambda each: (each.tasks, each.evaluation.id), default=None
    )


def _measurements(pool: Pool, version: PlannerVersion | None) -> Iterator[Measurement]:
    """Yield those since the version in use is there, and the one it was measured by."""
    wanted = Q(state=JobState.DONE, outcome=EvaluationOutcome.COMPLETED)
    gate = str(version.gate["evaluation"]) if version and version.gate else ""
    if version is not None:
        wanted &= Q(created_at__gte=version.created_at)
    if gate:
        wanted |= Q(id=gate)
    rows = evaluation_list(pool.team_id).filter(wanted).order_by("-total", "-id")
    for evaluation in rows[:MAX_LOOKED_AT]:
        settings = EvaluationSettings.model_validate(evaluation.settings)
        place = _tier_place(settings)
        is_compared = settings.pool == pool.name and bool(settings.single_workers)
        if str(evaluation.id) == gate:
            place, is_compared = place or 0, True
        if is_compared and place is not None:
            tasks = evaluation.total // len(settings.systems)
            yield Measurement(evaluation, place, tasks)


def _tier_place(settings: EvaluationSettings) -> int | None:
    """Return the place of the tier as callers get it; None: it is not there."""
    usual = TierSystem(kind="tier", tier="ultra")
    return next((n for n, each in enumerate(settings.systems) if each == usual), None)


@lru_cache(maxsize=MAX_KEPT)
def _headline(evaluation_id: UUID, team_id: UUID, place: int) -> Headline | None:
    report = report_make(evaluation_list(team_id).get(id=evaluation_id))
    return _made(report, place)


def report_headline(report: Report) -> Headline | None:
    """Return what a report says of conducting; None: it compares nothing that plans.

    A tier as callers get it comes first, then the first version of a light planner.
    """
    place = _tier_place(report.settings)
    if place is None:
        kinds = [system.kind for system in report.settings.systems]
        place = kinds.index("light_planner") if "light_planner" in kinds else None
    return None if place is None else _made(report, place)


def _made(report: Report, place: int) -> Headline | None:
    evaluation = report.evaluation
    conducted, best = report.systems[place], report.best_single
    if best is None or conducted is best or conducted.difference is None:
        return None
    reflected = [s for s in report.systems if s.kind == "self_reflection" and s.ended]
    pairs = [
        (first == RIGHT, second == RIGHT)
        for first, second in zip(conducted.marks, best.marks, strict=True)
    ]
    singles = report.settings.single_workers
    return Headline(
        evaluation_id=evaluation.id,
        measured_at=evaluation.finished_at or evaluation.created_at,
        pool=report.settings.pool,
        is_simulated=evaluation.is_simulated,
        tasks=report.tasks,
        place=place,
        conducted=_in_short(conducted),
        single=_in_short(best),
        worker=singles[report.systems.index(best)],
        reflected=_in_short(reflected[0]) if reflected else None,
        difference=conducted.difference,
        gained=pairs.count((True, False)),
        lost=pairs.count((False, True)),
        telling=tuple(_telling(report, place, pairs)),
    )


def _in_short(system: SystemReport) -> HeadlineSystem:
    accuracy = system.accuracy
    assert accuracy is not None, "the system has ended no task"
    return HeadlineSystem(
        system.label,
        accuracy,
        round(PER_TASKS * system.cost_micros / system.ended),
        system.has_unknown_cost,
    )


def _telling(
    report: Report, place: int, pairs: Sequence[tuple[bool, bool]]
) -> Iterator[TellingTask]:
    """Yield the first telling task of each family, in the order of the suite.

    The family in which most was gained comes first.
    """
    team_id, count = report.evaluation.team_id, len(report.systems)
    rows = results_of(report.evaluation).filter(system=place).order_by("place")
    firsts: dict[str, EvaluationResult] = {}
    for row in rows.select_related("task").defer("task__sealed"):
        if pairs[row.place // count] == (True, False):
            firsts.setdefault(row.task.family, row)
    families = report.systems[place].families
    gained = sorted(firsts, key=lambda name: -_gain(families[name]))
    wanted = [firsts[name] for name in gained][:MAX_TELLING]
    workers = result_workers(team_id, [row.run_id for row in wanted])
    for row in wanted:
        task = StoredTask.objects.for_team(team_id).get(id=row.task_id)
        try:
            prompt = task_read(task).prompt
        except SecretUnreadable:
            continue  # its key is gone; the figures still hold
        named = tuple(row.workers or workers[row.run_id])
        yield TellingTask(prompt, task.family, named)


def _gain(family: Figures) -> float:
    """Return by how much a system is better in a family than the best single worker."""
    return family.difference.value if family.difference else 0.0
