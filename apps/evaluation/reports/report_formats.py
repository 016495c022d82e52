"""Writes reports for programs: as JSON values, and results as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from apps.core.plain_text import safe_cell
from apps.evaluation.models import EvaluationResult
from apps.evaluation.reports.report import Report
from apps.evaluation.reports.statistics import Interval
from apps.evaluation.reports.system_report import Figures, SystemReport

CSV_COLUMNS = (
    "task",
    "family",
    "system",
    "state",
    "cause",
    "run_id",
    "steps",
    "tokens",
    "cost_micros",
    "has_unknown_cost",
    "latency_ms",
    "is_unplanned",
    "rejected_plans",
    "is_simulated",
)


def report_values(report: Report) -> dict[str, Any]:
    """Return a report as JSON values: shares from 0 to 1, money in micro-dollars."""
    evaluation, best = report.evaluation, report.best_single
    return {
        "id": str(evaluation.id),
        "suite": evaluation.version.suite.name,
        "suite_version": evaluation.version.number,
        "suite_digest": evaluation.version.digest,
        "is_simulated": evaluation.is_simulated,
        "settings": evaluation.settings,
        "state": evaluation.state,
        "outcome": evaluation.outcome or None,
        "error": evaluation.error,
        "tasks": report.tasks,
        "best_single_worker": best.label if best else None,
        "oracle": interval_values(report.oracle),
        "systems": [_system_values(system) for system in report.systems],
    }


def _system_values(system: SystemReport) -> dict[str, Any]:
    return {
        "system": system.label,
        "kind": system.kind,
        "failed": system.failed,
        **_figures(system),
        "difference_to_oracle": interval_values(system.oracle_difference),
        "grading_cost_micros": system.grading_cost_micros,
        "unplanned": system.unplanned,
        "rejected_plans": system.rejected_plans,
        "plan_faults": dict(system.plan_faults.most_common()),
        "causes": dict(system.causes.most_common()),
        "families": {
            name: _figures(figures) for name, figures in sorted(system.families.items())
        },
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "ended": figures.ended,
        "right": figures.right,
        "accuracy": interval_values(figures.accuracy),
        "difference_to_best_single": interval_values(figures.difference),
        "tokens": figures.tokens,
        "cost_micros": figures.cost_micros,
        "has_unknown_cost": figures.has_unknown_cost,
        "steps": figures.steps,
        "latency_ms": {"p50": figures.latency_ms(50), "p95": figures.latency_ms(95)},
        "worker_shares": figures.shares,
    }


def interval_values(found: Interval | None) -> dict[str, float] | None:
    """Return an interval as JSON values."""
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": found.high}


def results_csv(report: Report, rows: Iterator[EvaluationResult]) -> Iterator[str]:
    """Yield the results as lines of CSV, a header first."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\r\n")
    labels = [system.label for system in report.systems]

    def written(values: tuple[object, ...]) -> str:
        line.seek(0)
        line.truncate()
        writer.writerow(values)
        return line.getvalue()

    yield written(CSV_COLUMNS)
    for row in rows:
        yield written(
            (
                safe_cell(row.task.key),
                safe_cell(row.task.family),
                safe_cell(labels[row.system]),
                row.state,
                safe_cell(row.cause),
                row.run_id,
                row.steps,
                row.tokens,
                row.cost_micros,
                row.has_unknown_cost,
                row.latency_ms,
                row.is_unplanned,
                row.rejected_plans,
                report.evaluation.is_simulated,
            )
        )
