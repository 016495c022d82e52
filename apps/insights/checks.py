"""Sums the kept days anew from the rows of their runs, and compares.

Those rows are themselves compared with the ledger, by `runs.records.row_checks`; both
are part of `audit_verify`. Runs of a kept span have ended and do not change.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from datetime import date, datetime
from typing import Any

from apps.accounts.models import ApiKey, Team, User
from apps.audit.rows import RowFault, RowReport
from apps.insights.collecting import collect
from apps.insights.models import KeptSpan
from apps.insights.stored import span_load
from apps.insights.sums import Collected, QuerySlot, QuerySums
from apps.runs.selectors import shape_of, start_of

Sums = Mapping[Any, Any]
NONE = "nothing"
DETAILS = ("latencies", "first_tokens", "costs", "rescues", "examples")
"""Fields that are too long to be quoted."""
DRAWING = "access"
"""Of any plan of its shape, so its graph is compared."""


def rows_check(team_id: uuid.UUID, run_id: uuid.UUID | None, report: RowReport) -> None:
    """Compare the kept sums of a team; those of no single run.

    Satisfies `audit.rows.RowCheck`.
    """
    if run_id is not None or not Team.objects.filter(id=team_id).exists():
        return
    spans = KeptSpan.objects.for_team(team_id).order_by("day", "until")
    for id, day, until in list(spans.values_list("id", "day", "until")):
        report.checked["sums of insights"] += 1
        faults = list(span_differences(team_id, id, day, until))
        # What the leader has dropped meanwhile says nothing any more.
        if faults and spans.filter(id=id).exists():
            for fault in faults:
                report.blame(fault)


def span_differences(
    team_id: uuid.UUID, span_id: int, day: date, until: datetime
) -> Iterator[RowFault]:
    """Yield where the kept sums of a span differ from those of its runs' rows."""
    known = _known_owners(team_id)
    kept = _without_gone(span_load(team_id, span_id), known)
    derived = collect(team_id, start_of(day), until)
    name = f"insights of {day.isoformat()}"
    parts: tuple[tuple[str, Sums, Sums], ...] = (
        ("queries", kept.queries, derived.queries),
        ("faults", kept.faults, derived.faults),
        ("plans", kept.shapes, derived.shapes),
    )
    for part, left, right in parts:
        for slot in sorted(left.keys() | right.keys()):
            words = " ".join(str(each) for each in slot[:-1]).rstrip()
            tests = "" if slot.by_callers else ", tests"
            row = f"{name}, {part} {words}{tests}"
            yield from _slot_differences(row, left.get(slot), right.get(slot))
    for slot, sums in kept.shapes.items():
        if shape_of(sums.access).key != slot.shape:
            row = f"{name}, plans {slot.shape}"
            yield RowFault(row, DRAWING, "another graph", "that of its shape")


def _slot_differences(row: str, stored: Any, derived: Any) -> Iterator[RowFault]:
    if stored is None or derived is None:
        found = ("a row", NONE) if derived is None else (NONE, "a row")
        yield RowFault(row, "runs", *found)
        return
    for field in fields(stored):
        left, right = getattr(stored, field.name), getattr(derived, field.name)
        if field.name == DRAWING or left == right:
            continue
        if field.name in DETAILS:
            yield RowFault(row, field.name, "others", "those of its runs")
        else:
            yield RowFault(row, field.name, str(left), str(right))


def _known_owners(team_id: uuid.UUID) -> Mapping[str, Collection[str]]:
    keys = ApiKey.objects.for_team(team_id).values_list("id", flat=True)
    return {
        "member": {id.hex for id in User.objects.values_list("id", flat=True)},
        "key": {id.hex for id in keys},
    }


def _without_gone(kept: Collected, known: Mapping[str, Collection[str]]) -> Collected:
    """Return sums in which deleted people and keys are nobody, as in rows of runs."""
    found = Collected(faults=kept.faults, shapes=kept.shapes)
    for slot, sums in kept.queries.items():
        if slot.group in known and slot.key not in known[slot.group]:
            slot = QuerySlot(slot.group, "", slot.by_callers)
        found.queries.setdefault(slot, QuerySums()).merge(sums)
    return found
