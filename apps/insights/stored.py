"""Sums as rows: writes those of a span, and reads those of several spans."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date, datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import Team
from apps.insights.histogram import LogHistogram
from apps.insights.models import FaultRow, KeptSpan, QueryRow, ShapeRow
from apps.insights.sums import (
    Collected,
    FaultSlot,
    FaultSums,
    QuerySlot,
    QuerySums,
    ShapeSlot,
    ShapeSums,
)

ROWS_AT_ONCE = 1_000
NUMBERS = (
    "runs",
    "failed",
    "cost_micros",
    "prompt_tokens",
    "completion_tokens",
    "unknown_costs",
    "based_runs",
    "based_asked",
    "based_answered",
    "based_tokens",
    "based_cost_micros",
)
HISTOGRAMS = ("latencies", "first_tokens", "costs")
_SHAPE_NUMBERS = (
    "runs",
    "failed",
    "completed",
    "cost_micros",
    "tokens",
    "unknown_costs",
)


def span_keep(
    team_id: uuid.UUID, day: date, until: datetime, collected: Collected
) -> None:
    """Keep the sums of a span, unless they are kept or the team is gone."""
    with transaction.atomic():
        # One process at a time keeps a team's spans; runs' commits take no such lock.
        team = Team.objects.select_for_update(no_key=True).filter(id=team_id)
        if not team.values_list("id", flat=True):
            return
        kept = KeptSpan.objects.for_team(team_id).filter(day=day, until=until)
        if kept.exists():
            return
        span = KeptSpan(team_id=team_id, day=day, until=until)
        span.save(force_insert=True)
        owner = {"span": span, "team_id": team_id}
        QueryRow.objects.bulk_create(
            [
                QueryRow(**owner, **slot._asdict(), **_query_columns(sums))
                for slot, sums in collected.queries.items()
            ],
            ROWS_AT_ONCE,
        )
        FaultRow.objects.bulk_create(
            [
                FaultRow(**owner, **slot._asdict(), **_fault_columns(sums))
                for slot, sums in collected.faults.items()
            ],
            ROWS_AT_ONCE,
        )
        ShapeRow.objects.bulk_create(
            [
                ShapeRow(**owner, **slot._asdict(), **_shape_columns(sums))
                for slot, sums in collected.shapes.items()
            ],
            ROWS_AT_ONCE,
        )


def spans_drop(team_id: uuid.UUID, span_ids: Collection[int]) -> None:
    """Forget what is kept of some spans."""
    with transaction.atomic():
        for model in (QueryRow, FaultRow, ShapeRow):
            model.objects.for_team(team_id).filter(span_id__in=span_ids).delete()
        KeptSpan.objects.for_team(team_id).filter(id__in=span_ids).delete()


def span_load(team_id: uuid.UUID, span_id: int) -> Collected:
    """Return everything that is kept of a span."""
    rows = QueryRow.objects.for_team(team_id).filter(span_id=span_id)
    found = Collected()
    for group, key, by_callers, *values in rows.values_list(
        "group", "key", "by_callers", *NUMBERS, *HISTOGRAMS
    ):
        found.query(QuerySlot(group, key, by_callers)).merge(query_sums(values))
    for _, slot, faults in fault_rows(team_id, [span_id]):
        found.fault(slot).merge(faults)
    for shape_slot, shapes in shape_rows(team_id, [span_id]):
        found.shape(shape_slot).merge(shapes)
    return found


def query_sums(values: Iterable[Any]) -> QuerySums:
    """Return sums of the values of NUMBERS and HISTOGRAMS, in that order."""
    given = dict(zip((*NUMBERS, *HISTOGRAMS), values, strict=True))
    for name in HISTOGRAMS:
        given[name] = LogHistogram.unpacked(given[name])
    return QuerySums(**given)


def fault_rows(
    team_id: uuid.UUID, span_ids: Collection[int]
) -> list[tuple[int, FaultSlot, FaultSums]]:
    """Return what is kept of faults, with the span it is of."""
    rows = FaultRow.objects.for_team(team_id).filter(span_id__in=span_ids)
    found = []
    for row in rows:
        slot = FaultSlot(row.stage, row.fault, row.worker, row.by_callers)
        sums = FaultSums(
            row.runs,
            row.failed,
            row.count,
            row.cost_micros,
            Counter(row.rescues),
            list(row.examples),
        )
        found.append((row.span_id, slot, sums))
    return found


def shape_rows(
    team_id: uuid.UUID, span_ids: Collection[int]
) -> list[tuple[ShapeSlot, ShapeSums]]:
    """Return what is kept of plans."""
    rows = ShapeRow.objects.for_team(team_id).filter(span_id__in=span_ids)
    return [
        (
            ShapeSlot(row.shape, row.by_callers),
            ShapeSums(
                access=row.access,
                latencies=LogHistogram.unpacked(row.latencies),
                examples=list(row.examples),
                **{name: getattr(row, name) for name in _SHAPE_NUMBERS},
            ),
        )
        for row in rows
    ]


def _query_columns(sums: QuerySums) -> dict[str, Any]:
    numbers = {name: getattr(sums, name) for name in NUMBERS}
    return numbers | {name: getattr(sums, name).packed() for name in HISTOGRAMS}


def _fault_columns(sums: FaultSums) -> dict[str, Any]:
    return {
        "runs": sums.runs,
        "failed": sums.failed,
        "count": sums.count,
        "cost_micros": sums.cost_micros,
        "rescues": dict(sums.rescues),
        "examples": sums.examples,
    }


def _shape_columns(sums: ShapeSums) -> dict[str, Any]:
    return {
        **{name: getattr(sums, name) for name in _SHAPE_NUMBERS},
        "access": sums.access,
        "latencies": sums.latencies.packed(),
        "examples": sums.examples,
    }
