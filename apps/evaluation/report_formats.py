"""Writes reports: as Markdown for people, as JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from apps.core.money import usd_text
from apps.core.plain_text import safe_cell
from apps.evaluation.models import EvaluationResult
from apps.evaluation.report import Report, SystemReport
from apps.evaluation.statistics import Interval

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
)
BIAS = (
    "A grade by a model is an opinion, and models tend to prefer answers like their "
    "own."
)
SIMULATED = "**Simulated**: the workers of this suite are simulated."


def report_values(report: Report) -> dict[str, Any]:
    """Return a report as JSON values: shares from 0 to 1, money in micro-dollars."""
    evaluation, best = report.evaluation, report.best_single
    return {
        "id": str(evaluation.id),
        "suite": evaluation.version.suite.name,
        "suite_version": evaluation.version.number,
        "suite_digest": evaluation.version.digest,
        "is_simulated": evaluation.version.suite.is_simulated,
        "settings": evaluation.settings,
        "state": evaluation.state,
        "outcome": evaluation.outcome or None,
        "error": evaluation.error,
        "tasks": report.tasks,
        "best_single_worker": best.label if best else None,
        "oracle": _interval(report.oracle),
        "systems": [_system_values(system) for system in report.systems],
    }


def _system_values(system: SystemReport) -> dict[str, Any]:
    return {
        "system": system.label,
        "kind": system.kind,
        "ended": system.ended,
        "right": system.right,
        "failed": system.failed,
        "accuracy": _interval(system.accuracy),
        "difference_to_best_single": _interval(system.difference),
        "tokens": system.tokens,
        "cost_micros": system.cost_micros,
        "grading_cost_micros": system.grading_cost_micros,
        "has_unknown_cost": system.has_unknown_cost,
        "steps": system.steps,
        "unplanned": system.unplanned,
        "rejected_plans": system.rejected_plans,
        "latency_ms": {"p50": system.latency_ms(50), "p95": system.latency_ms(95)},
        "causes": dict(system.causes.most_common()),
        "families": {
            name: {"right": right, "ended": ended}
            for name, (right, ended) in sorted(system.families.items())
        },
        "worker_shares": system.shares,
    }


def _interval(found: Interval | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": found.high}


def report_markdown(report: Report) -> str:
    """Return a report as Markdown tables."""
    version = report.evaluation.version
    lines = [f"# {version.suite.name}, version {version.number}", ""]
    if version.suite.is_simulated:
        lines += [SIMULATED, ""]
    lines += [
        f"{report.tasks} tasks, pool `{report.settings.pool}`, seed "
        f"{report.settings.seed}. Intervals are of 95 %.",
        "",
        *_main_table(report),
        "",
    ]
    if report.oracle is not None:
        lines.append(f"Oracle (any of these systems is right): {_text(report.oracle)}")
    if report.best_single is not None:
        lines.append(f"Best single worker, in hindsight: {report.best_single.label}")
    if report.settings.grader is not None:
        cost = sum(system.grading_cost_micros for system in report.systems)
        lines.append(
            f"Answers to tasks with a rubric were judged by {report.settings.grader}, "
            f"for ${usd_text(cost)} apart from the costs above. {BIAS}"
        )
    return "\n".join([*lines, "", *_family_table(report), *_failures(report)])


def _main_table(report: Report) -> Iterator[str]:
    yield (
        "| system | tasks | accuracy | to the best single worker | cost a task | "
        "tokens a task | steps | p50, p95 | failed | without plan |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for system in report.systems:
        ended = max(system.ended, 1)
        cost = f"${usd_text(round(system.cost_micros / ended))}"
        cells = (
            system.label,
            str(system.ended),
            _text(system.accuracy),
            _text(system.difference, signed=True),
            f"at least {cost}" if system.has_unknown_cost else cost,
            f"{system.tokens / ended:,.0f}",
            f"{system.steps / ended:.1f}",
            f"{system.latency_ms(50) or 0:,} ms, {system.latency_ms(95) or 0:,} ms",
            str(system.failed),
            str(system.unplanned),
        )
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _family_table(report: Report) -> Iterator[str]:
    names = sorted({name for system in report.systems for name in system.families})
    if len(names) < 2:
        return
    yield f"| system | {' | '.join(map(_cell, names))} |"
    yield f"|---|{'---|' * len(names)}"
    for system in report.systems:
        counts = [system.families.get(name, [0, 0]) for name in names]
        cells = [f"{r / n:.2f} ({n})" if n else "–" for r, n in counts]
        yield f"| {_cell(system.label)} | {' | '.join(cells)} |"
    yield ""


def _failures(report: Report) -> Iterator[str]:
    causes = [
        f"- {_cell(system.label)}: {_cell(cause)} × {count}"
        for system in report.systems
        for cause, count in system.causes.most_common()
    ]
    if causes:
        yield from ("Runs without an answer:", "", *causes, "")


def _text(found: Interval | None, *, signed: bool = False) -> str:
    if found is None:
        return "–"
    sign = "+" if signed else ""
    return f"{found.value:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def _cell(text: str) -> str:
    """Return a text that cannot leave its cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


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
            )
        )
