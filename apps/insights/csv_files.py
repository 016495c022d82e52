"""Insights as CSV. No cell is taken for a formula by a spreadsheet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apps.core.money import usd_text
from apps.core.plain_text import csv_row
from apps.insights.types import FaultReport, Percentiles, QueryReport, ShapeReport

QUERIES = (
    "key",
    "label",
    "runs",
    "failed",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "has_unknown_cost",
    "latency_p50_ms",
    "latency_p95_ms",
    "first_token_p50_ms",
    "first_token_p95_ms",
    "cost_p50_usd",
    "cost_p95_usd",
)
FAULTS = (
    "stage",
    "fault",
    "worker",
    "count",
    "count_before",
    "runs",
    "failed_runs",
    "cost_usd",
    "rescues",
    "example_runs",
)
SHAPES = (
    "shape",
    "graph",
    "steps",
    "runs",
    "completed",
    "failed",
    "tokens",
    "cost_usd",
    "has_unknown_cost",
    "latency_p50_ms",
    "latency_p95_ms",
    "liked",
    "disliked",
    "passed",
    "not_passed",
    "example_runs",
)
Cell = str | int | bool


def queries_csv(report: QueryReport) -> str:
    """Return the rows of a report; what is not known is empty."""
    return _written(
        QUERIES,
        (
            (
                row.key,
                row.label,
                row.runs,
                row.failed,
                row.prompt_tokens,
                row.completion_tokens,
                usd_text(row.cost_micros),
                row.has_unknown_cost,
                *_pair(row.latency_ms),
                *_pair(row.first_token_ms),
                *(map(usd_text, _values(row.cost_each)) if row.cost_each else ("", "")),
            )
            for row in report.rows
        ),
    )


def faults_csv(report: FaultReport) -> str:
    """Return faults, then loops."""
    return _written(
        FAULTS,
        (
            (
                row.stage,
                row.fault,
                row.worker,
                row.count,
                row.before,
                row.runs,
                row.failed,
                usd_text(row.cost_micros),
                " ".join(f"{name}:{number}" for name, number in row.rescues.items()),
                " ".join(row.examples),
            )
            for row in (*report.faults, *report.loops)
        ),
    )


def shapes_csv(report: ShapeReport) -> str:
    """Return the shapes of plans."""
    return _written(
        SHAPES,
        (
            (
                row.shape,
                row.words,
                row.steps,
                row.runs,
                row.completed,
                row.failed,
                row.tokens,
                usd_text(row.cost_micros),
                row.has_unknown_cost,
                *_pair(row.latency_ms),
                row.liked,
                row.disliked,
                row.passed,
                row.not_passed,
                " ".join(row.examples),
            )
            for row in report.rows
        ),
    )


def _written(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    return "".join(map(csv_row, (head, *rows)))


def _pair(values: Percentiles | None) -> tuple[Cell, Cell]:
    return _values(values) if values else ("", "")


def _values(values: Percentiles) -> tuple[int, int]:
    return values.median, values.p95
