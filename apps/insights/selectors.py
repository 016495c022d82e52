"""Reads of a team's insights."""

from __future__ import annotations

from dataclasses import dataclass

from apps.insights.anomalies import Anomaly, anomalies_of
from apps.insights.baseline import Baseline, baseline_of, reference_of, worker_prices
from apps.insights.fault_report import fault_report
from apps.insights.measured import (
    Measured,
    measured_by_evaluation,
    measured_by_shadow_test,
)
from apps.insights.query_report import query_report
from apps.insights.shape_report import shape_report
from apps.insights.types import Inquiry, QueryFigures, QueryReport

__all__ = [
    "Anomaly",
    "Audit",
    "Baseline",
    "Measured",
    "anomaly_list",
    "efficiency_audit",
    "fault_report",
    "query_report",
    "shape_report",
]


@dataclass(frozen=True, slots=True)
class Audit:
    """What queries cost beside one worker alone."""

    workers: tuple[str, ...]
    """Those with a price, by name: each may be the reference."""
    baseline: Baseline | None
    """Estimated. None: no worker has a price, or no run can be compared."""
    evaluation: Measured | None
    shadow_test: Measured | None


def efficiency_audit(asked: Inquiry, total: QueryFigures, worker: str = "") -> Audit:
    """Return the audit of the queries that `total` sums; `worker`: the reference."""
    prices = worker_prices(asked.team_id)
    return Audit(
        workers=tuple(sorted(prices)),
        baseline=baseline_of(total, reference_of(prices, worker, total), prices),
        evaluation=measured_by_evaluation(asked.team_id),
        shadow_test=measured_by_shadow_test(asked.team_id),
    )


def anomaly_list(asked: Inquiry, report: QueryReport) -> list[Anomaly]:
    """Return the days of a report that got worse than those before them."""
    return anomalies_of([*report.earlier_days, *report.days], asked.first_day)
