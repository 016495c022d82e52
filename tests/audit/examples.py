"""Builders of drafts and batches, and a scratch projection table."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction

from apps.audit.browsing.search import EntryFilter
from apps.audit.exports.jobs import export_request, export_take
from apps.audit.models import Entry, ExportFormat
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft, RowWrite
from apps.audit.verify import VerifyReport, verify_team

ALICE = Actor("user", "1", "Alice")
RUN = uuid.UUID("00000000-0000-7000-8000-000000000001")
INSERT_PROBE = "INSERT INTO audit_probe (name, count) VALUES (%s, %s)"


def draft(
    action: str = "run.created",
    *,
    subject_id: uuid.UUID = RUN,
    data: Mapping[str, Any] | None = None,
    bodies: Mapping[str, str] | None = None,
) -> EntryDraft:
    return EntryDraft(
        action=action,
        subject_type="run",
        subject_id=subject_id,
        actor=ALICE,
        data={"round": 1} if data is None else data,
        bodies={} if bodies is None else bodies,
    )


def batch(
    team_id: uuid.UUID, *drafts: EntryDraft, writes: tuple[RowWrite, ...] = ()
) -> Batch:
    return Batch(team_id, drafts or (draft(),), writes)


def guard(name: str) -> RowWrite:
    """Return a write that fails unless the probe has a row of this name."""
    sql = "UPDATE audit_probe SET count = count + 1 WHERE name = %s"
    return RowWrite(sql, (name,), must_change_row=True)


def append(team_id: uuid.UUID, *drafts: EntryDraft) -> list[int]:
    with transaction.atomic():
        return entries_append(batch=batch(team_id, *drafts))


def chain_of(entries: int, *, subject_id: uuid.UUID = RUN) -> uuid.UUID:
    """Return a new team with a chain in which every entry has one body."""
    team_id = uuid.uuid4()
    append(
        team_id,
        *(
            draft(
                f"step.number_{number}",
                subject_id=subject_id,
                bodies={"text": f"text {number}"},
            )
            for number in range(1, entries + 1)
        ),
    )
    return team_id


def execute(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Run a statement behind the ledger's back."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if cursor.description else []


def digest_at(team_id: uuid.UUID, seq: int) -> str:
    """Return the digest of the only body of an entry."""
    entry = Entry.objects.for_team(team_id).get(seq=seq)
    return bytes(entry.canonical).decode().split('"digest":"')[1].split('"')[0]


def place(team_id: uuid.UUID) -> tuple[int, str] | None:
    """Return seq and kind of the first fault in a team's chain."""
    return fault_of(verify_team(team_id))


def fault_of(report: VerifyReport) -> tuple[int, str] | None:
    return (report.fault.seq, report.fault.kind) if report.fault else None


def make_export(team_id: uuid.UUID) -> uuid.UUID:
    """Have a team's whole ledger exported; return the id of the export."""
    export = export_request(
        team_id=team_id,
        wanted=EntryFilter(),
        form=ExportFormat.CSV,
        has_texts=False,
        actor=ALICE,
    )
    for _ in export_take() or ():
        pass
    return export.id
