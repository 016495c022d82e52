"""Reports faults and loops: how often, with what rescue, at what cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from apps.engine.errors import CallFault, PlanFault
from apps.insights.periods import PeriodSources, period_of
from apps.insights.query_report import sums_by
from apps.insights.stored import fault_rows
from apps.insights.sums import FaultSlot, FaultSums
from apps.insights.types import FaultFigures, FaultReport, Inquiry

LOOP = "loop"
"""The stage of repeated work."""
NAMED = sorted(
    {str(each) for each in (*CallFault, *PlanFault)} - {str(CallFault.CANCELLED)}
)
"""Faults of calls and of plans; that we closed a call ourselves is none."""
Place = tuple[str, str, str]
"""Stage, fault and worker."""


@dataclass(slots=True)
class _Told:
    """One fault of a period."""

    sums: FaultSums = field(default_factory=FaultSums)
    by_day: Counter[date] = field(default_factory=Counter)


def fault_report(asked: Inquiry) -> FaultReport:
    """Return the faults and loops of a team's runs of a period."""
    period, earlier = period_of(asked), period_of(asked.earlier(asked.days))
    now, before = _told(asked, period), _told(asked, earlier)
    figures = sorted(
        (_figures(place, told, before.get(place)) for place, told in now.items()),
        key=lambda each: (-each.count, -each.cost_micros, each.fault, each.worker),
    )
    days = sums_by(asked, period, "day")
    return FaultReport(
        faults=[each for each in figures if each.stage != LOOP],
        loops=[each for each in figures if each.stage == LOOP],
        unseen=[name for name in NAMED if name not in {p[1] for p in now}],
        runs=sum(sums.runs for sums in days.values()),
        is_complete=period.is_complete and earlier.is_complete,
    )


def _told(asked: Inquiry, period: PeriodSources) -> dict[Place, _Told]:
    found: dict[Place, _Told] = {}
    for day, slot, sums in _all(asked, period):
        if slot.by_callers or asked.with_tests:
            told = found.setdefault((slot.stage, slot.fault, slot.worker), _Told())
            told.sums.merge(sums)
            told.by_day[day] += sums.count
    return found


def _all(
    asked: Inquiry, period: PeriodSources
) -> Iterator[tuple[date, FaultSlot, FaultSums]]:
    for span_id, slot, sums in fault_rows(asked.team_id, list(period.spans)):
        yield period.spans[span_id], slot, sums
    for day, collected in period.rest.items():
        for slot, sums in collected.faults.items():
            yield day, slot, sums


def _figures(place: Place, told: _Told, before: _Told | None) -> FaultFigures:
    stage, fault, worker = place
    sums = told.sums
    return FaultFigures(
        stage=stage,
        fault=fault,
        worker=worker,
        count=sums.count,
        before=before.sums.count if before else 0,
        runs=sums.runs,
        failed=sums.failed,
        cost_micros=sums.cost_micros,
        rescues=dict(sums.rescues.most_common()),
        examples=sums.examples,
        by_day=dict(sorted(told.by_day.items())),
    )
