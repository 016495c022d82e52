"""Derives the kept days of usage from the entries of their runs, and compares.

What was kept is read first and summed beside: as many sums as there are rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date
from typing import Any

from apps.accounts.models import ApiKey, User
from apps.audit.rows import RowFault, RowReport
from apps.engine import events as ev
from apps.runs.coordination.fail_run import BROKEN
from apps.runs.models import STATES_CALLED, UsageDay
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView
from apps.runs.types import UsageGroup
from apps.runs.usage.report import BEGIN, Slot, Sums, add_sums

NONE = "nothing"
"""What is said to be stored, or derived, where a row is missing or too much."""


@dataclass(slots=True)
class DerivedDays:
    """What the runs of kept days come to."""

    kept: set[date] = field(default_factory=set)
    """Days of which sums are stored."""
    begin: date | None = None
    """Before it the team ran nothing, as is kept."""
    first: date | None = None
    """The first day on which it did."""
    slots: dict[Slot, Sums] = field(default_factory=dict)

    def add(self, run: Mapping[str, Any], view: RunView) -> None:
        """Count a run by what its entries say."""
        day = run["created_at"].astimezone(UTC).date()
        self.first = min(self.first or day, day)
        if day in self.kept:
            for slot, sums in _slots_of(day, run, view).items():
                add_sums(self.slots, slot, sums)


def has_broken_off(view: RunView) -> bool:
    """Say whether a commit may have been refused before the run's end.

    Then its row and its last entry count what it had used by then, and the entries
    before only what came on record.
    """
    return isinstance(view.end, ev.RunFailed) and view.end.code == BROKEN.code


def totals(view: RunView) -> dict[str, int]:
    """Return what a run used."""
    usage, micros = view.usage, view.cost.micros
    if view.end is not None and has_broken_off(view):
        usage, micros = view.end.usage, view.end.cost_micros
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_micros": micros,
    }


def kept_days(team_id: uuid.UUID) -> DerivedDays:
    """Return which days of a team are kept, with nothing derived yet."""
    days = DerivedDays()
    rows = UsageDay.objects.for_team(team_id).filter(group__in=("day", BEGIN))
    for group, day in rows.values_list("group", "day"):
        if group == BEGIN:
            days.begin = day
        else:
            days.kept.add(day)
    return days


def check_days(team_id: uuid.UUID, days: DerivedDays, report: RowReport) -> None:
    """Compare the sums of days that are over."""
    report.checked["days"] += len(days.kept)
    if days.begin is not None and days.first is not None and days.first < days.begin:
        report.blame(
            RowFault("usage", "begin", days.begin.isoformat(), days.first.isoformat())
        )
    derived = {Slot(day, "day", ""): Sums() for day in days.kept} | days.slots
    stored = _stored_slots(team_id, days.kept)
    for slot in sorted(stored.keys() | derived.keys()):
        name = f"usage of {slot.day.isoformat()}, {slot.group} {slot.key}".rstrip()
        left, right = stored.get(slot), derived.get(slot)
        if left is None or right is None:
            found = ("a row", NONE) if right is None else (NONE, "a row")
            report.blame(RowFault(name, "entries", *found))
            continue
        for column, was, is_ in zip(Sums._fields, left, right, strict=True):
            if was != is_:
                report.blame(RowFault(name, column, str(was), str(is_)))


def _stored_slots(team_id: uuid.UUID, kept: Collection[date]) -> dict[Slot, Sums]:
    """Return the kept sums; those of deleted people and keys have no owner now."""
    known = {
        "member": {id.hex for id in User.objects.values_list("id", flat=True)},
        "key": {
            key.hex
            for key in ApiKey.objects.for_team(team_id).values_list("id", flat=True)
        },
    }
    rows = UsageDay.objects.for_team(team_id).exclude(group=BEGIN)
    found: dict[Slot, Sums] = {}
    for day, group, key, *sums in rows.values_list(
        "day", "group", "key", *Sums._fields
    ).iterator():
        if group in known and key not in known[group]:
            key = ""
        if day in kept:
            add_sums(found, Slot(day, group, key), Sums(*sums))
    return found


def _slots_of(day: date, run: Mapping[str, Any], view: RunView) -> dict[Slot, Sums]:
    """Return what a run counts in the sums of its day."""
    of_run = Sums(
        1,
        int(isinstance(view.end, ev.RunFailed)),
        unknown_costs=int(view.has_unknown_cost),
        **totals(view),
    )
    owners: dict[UsageGroup, uuid.UUID | None] = {
        "member": run["user_id"],
        "key": run["api_key_id"],
    }
    slots = {Slot(day, "day", ""): of_run}
    for group, owner in owners.items():
        slots[Slot(day, group, owner.hex if owner else "")] = of_run
    for step in view.steps:
        if step.state in STATES_CALLED:
            slot = Slot(day, "worker", step.worker)
            add_sums(slots, slot, _sums_of(step, is_first=slot not in slots))
    return slots


def _sums_of(step: StepView, *, is_first: bool) -> Sums:
    """Return what a step counts for its worker; the run counts once."""
    return Sums(
        int(is_first),
        int(step.state == "failed"),
        step.usage.prompt_tokens,
        step.usage.completion_tokens,
        0 if step.cost.has_unknown else step.cost.micros,
        int(step.cost.has_unknown),
    )
