"""Entries about verifications: what was found, as facts, and who asked for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from apps.audit import chain
from apps.audit.services import VERIFIED, entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.audit.verify import VerifyReport

FAULTS_KEPT = 20


def verified_record(team_id: UUID, actor: Actor, facts: dict[str, Any]) -> None:
    """Append the entry of a verification; in a transaction."""
    outcome = "success" if facts.get("fault_count") == 0 else "failure"
    draft = EntryDraft(VERIFIED, "team", team_id, actor, facts, outcome=outcome)
    entries_append(batch=Batch(team_id, (draft,)))


def verified_facts(found: VerifyReport, took_s: float) -> dict[str, Any]:
    """Return what a verification found, as facts of an entry."""
    return {
        "entries": found.entries,
        "bodies": found.bodies,
        "erased": found.erased,
        "checkpoints": found.checkpoints,
        "codes": found.macs,
        "end_seq": found.end.seq,
        "end_hash": chain.tagged(found.end.hash),
        "fault_count": found.fault_count,
        "faults": [
            {"seq": fault.seq, "kind": str(fault.kind), "detail": fault.detail}
            for fault in found.faults[:FAULTS_KEPT]
        ],
        "took_ms": round(1000 * took_s),
    }
