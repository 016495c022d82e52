"""Evaluations and their reports as the team's pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.audit.models import JobState
from apps.console.evaluations.evaluation_plot import (
    PER_TASKS,
    HeatCell,
    IntervalBar,
    Plot,
    interval_bar,
    plot_of,
)
from apps.console.evaluations.family_bars import (
    FamilyBars,
    FamilyRow,
    family_bars,
    percents,
)
from apps.console.templatetags.console_figures import split_word
from apps.evaluation.models import Evaluation, EvaluationOutcome
from apps.evaluation.reports.headline import Headline, report_headline
from apps.evaluation.reports.report import Report
from apps.evaluation.reports.system_report import Figures, SystemReport
from apps.evaluation.selectors import (
    EvaluationProgress,
    evaluation_list,
    evaluation_progress,
)
from apps.evaluation.settings import EvaluationSettings

OFFERED = 50
"""Evaluations that others can learn from, of the newest."""


PRODUCT_KINDS = {"tier": 0, "light_planner": 1, "worker": 2}
"""What most people compare, by the kind of system and in the order of the report."""


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """An evaluation and how far it is."""

    evaluation: Evaluation
    progress: EvaluationProgress

    @property
    def is_open(self) -> bool:
        """Say whether it is still under way."""
        return self.evaluation.state != JobState.DONE

    @property
    def state(self) -> str:
        """Return waiting, running, cancelling or how it ended."""
        if not self.is_open:
            return str(EvaluationOutcome(self.evaluation.outcome))
        return "cancelling" if self.evaluation.is_cancelled else "running"

    @property
    def state_words(self) -> str:
        """Return the state for people."""
        if not self.is_open:
            return _(str(EvaluationOutcome(self.evaluation.outcome).label))
        if self.evaluation.is_cancelled:
            return _("Being cancelled")
        if self.progress.total:
            return _("Running")
        return _("Waiting for a process to begin")

    @property
    def percent(self) -> int:
        """Return the share of results that have ended."""
        return 100 * self.progress.graded // max(self.progress.total, 1)

    @property
    def left_ms(self) -> int | None:
        """Return how long the rest takes at the pace so far; None: not known."""
        left = self.progress.left_s
        return None if left is None else 1_000 * left

    @property
    def started_by(self) -> str:
        """Return the name of the person or key that started it."""
        return str(self.evaluation.requested_by.get("display", ""))


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system in the tables of a report."""

    number: int
    """From 1."""
    system: SystemReport
    bar: IntervalBar | None
    cells: Sequence[HeatCell]
    families: Sequence[FamilyRow]
    is_best_single: bool

    @property
    def place(self) -> int:
        """Return its place in the settings."""
        return self.number - 1

    @property
    def cost_micros(self) -> int:
        """Return what 1,000 tasks cost at the mean cost of a task."""
        return round(PER_TASKS * self.system.cost_micros / max(self.system.ended, 1))

    @property
    def tokens(self) -> int:
        """Return the mean tokens of a task."""
        return round(self.system.tokens / max(self.system.ended, 1))

    @property
    def steps(self) -> float:
        """Return the mean steps of a task."""
        return self.system.steps / max(self.system.ended, 1)

    @property
    def is_better(self) -> bool:
        """Say whether it is better than the best single worker beyond chance."""
        found = self.system.difference
        return found is not None and found.low > 0

    @property
    def is_worse(self) -> bool:
        """Say whether it is worse than the best single worker beyond chance."""
        found = self.system.difference
        return found is not None and found.high < 0

    @property
    def latencies(self) -> tuple[int, int]:
        """Return the median and the 95th percentile, in milliseconds."""
        return self.system.latency_ms(50) or 0, self.system.latency_ms(95) or 0

    @property
    def shares(self) -> Sequence[tuple[str, int]]:
        """Return who did how much of the steps, in percent; empty: one did all."""
        shown = percents(self.system)
        return shown if len(shown) > 1 else ()

    @property
    def causes(self) -> Sequence[tuple[str, int]]:
        """Return why runs have no answer, the most frequent first."""
        return self.system.causes.most_common()

    @property
    def plan_faults(self) -> Sequence[tuple[str, int]]:
        """Return why calls of the conductor led to no plan, the most frequent first."""
        return self.system.plan_faults.most_common()

    @property
    def has_plans(self) -> bool:
        """Say whether several workers or steps take part in a task."""
        return len(self.system.workers) > 1 or self.system.steps > self.system.ended


@dataclass(frozen=True, slots=True)
class ReportView:
    """Everything that the page of a report shows."""

    report: Report
    rows: Sequence[SystemRow]
    """In the order of the settings."""
    families: Sequence[str]
    """Empty: there is only one."""
    plot: Plot | None
    bars: FamilyBars
    found: Headline | None
    """What it says of conducting. None: it compares nothing that plans."""

    @property
    def product_rows(self) -> Sequence[SystemRow]:
        """Return tiers, then single workers; all systems, if there are none of them."""
        found = [row for row in self.rows if row.system.kind in PRODUCT_KINDS]
        found.sort(key=lambda row: PRODUCT_KINDS[row.system.kind])
        return found or self.rows

    @property
    def research_rows(self) -> Sequence[SystemRow]:
        """Return the other systems, which pages show on demand."""
        shown = self.product_rows
        return [row for row in self.rows if row not in shown]

    @property
    def best_single_place(self) -> int | None:
        """Return the place of the best single worker in the settings."""
        return next((row.place for row in self.rows if row.is_best_single), None)

    @property
    def grading_cost_micros(self) -> int | None:
        """Return what judging answers has cost; None: no model judges."""
        if self.report.settings.grader is None:
            return None
        return sum(system.grading_cost_micros for system in self.report.systems)

    @property
    def has_failures(self) -> bool:
        """Say whether a run ended without an answer."""
        return any(row.system.causes for row in self.rows)

    @property
    def has_rejected_plans(self) -> bool:
        """Say whether it is known why a call of the conductor led to no plan."""
        return any(row.system.plan_faults for row in self.rows)


def evaluation_rows(evaluations: Iterable[Evaluation]) -> list[EvaluationRow]:
    """Return the rows of a list of evaluations."""
    return [EvaluationRow(each, evaluation_progress(each)) for each in evaluations]


def report_view(report: Report) -> ReportView:
    """Return what the page of a report shows."""
    names, bars = report.families, family_bars(report.systems)
    rows = [
        SystemRow(
            number,
            system,
            interval_bar(system.accuracy),
            [_heat_cell(name, system.families.get(name)) for name in names],
            families,
            system is report.best_single,
        )
        for number, (system, families) in enumerate(
            zip(report.systems, bars.systems, strict=True), start=1
        )
    ]
    several = names if len(names) > 1 else ()
    found = report_headline(report)
    plot = plot_of(report.systems, found.place if found else None)
    return ReportView(report, rows, several, plot, bars, found)


def _heat_cell(family: str, figures: Figures | None) -> HeatCell:
    return HeatCell(
        family, figures.right if figures else 0, figures.ended if figures else 0
    )


def measured_choices(team_id: UUID) -> list[tuple[str, str]]:
    """Return the evaluations that systems can learn from, newest first, in words."""
    done = evaluation_list(team_id).filter(
        state=JobState.DONE, outcome=EvaluationOutcome.COMPLETED
    )
    found = []
    for evaluation in done[:OFFERED]:
        settings = EvaluationSettings.model_validate(evaluation.settings)
        workers = len(settings.single_workers)
        if not workers:
            continue
        ended = timezone.localtime(evaluation.finished_at)
        words = _("{suite}, {split}, {workers} alone, {ended}").format(
            suite=evaluation.version.suite.name,
            split=split_word(settings.split),
            workers=workers,
            ended=f"{ended:%Y-%m-%d %H:%M}",
        )
        found.append((str(evaluation.id), words))
    return found
