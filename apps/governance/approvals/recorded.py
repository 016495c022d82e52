"""Holds approvals against the ledger, so that a row that was changed approves nothing.

The row of a plan says in one word that people have approved it; the ledger has an entry
of each of them. Whoever can write to the database alone can change the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.audit.selectors import entries_by_subject
from apps.audit.types import EntryView
from apps.engine.events import ApprovalRequested
from apps.engine.plan import Plan
from apps.runs.models import PlanApproval

GRANTED = "approval.granted"
NOT_RECORDED = "the ledger does not have these approvals of this plan; verify it"


def is_approval_recorded(row: PlanApproval, edited: Plan | None) -> bool:
    """Say whether as many people as the plan needs have approved it, on record.

    `edited` is the plan of the row that replaces the original one, if there is one.
    """
    of_round = _entries_of_round(row)
    request = _request_in(of_round)
    if request is None:
        return False
    digest = request["plan_digest"] if edited is None else edited.digest
    people = {
        entry.actor.id
        for entry in of_round
        if entry.action == GRANTED and entry.data.get("plan_digest") == digest
    }
    needed: int = request["approvals_needed"]
    return row.plan_digest == digest and len(people) >= needed


def data_class_on_record(row: PlanApproval) -> str:
    """Return the data class of the prompt; empty if no rule depends on it."""
    request = _request_in(_entries_of_round(row)) or {}
    data_class: str = request.get("data_class", "")
    return data_class


def _entries_of_round(row: PlanApproval) -> list[EntryView]:
    entries = entries_by_subject(row.team_id, [row.run_id], texts=())[row.run_id]
    return [entry for entry in entries if entry.data.get("round") == row.round]


def _request_in(entries: list[EntryView]) -> Mapping[str, Any] | None:
    requests = [e.data for e in entries if e.action == ApprovalRequested.action]
    return requests[-1] if requests else None
