"""Appending in the caller's own transaction, and erasing bodies."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.transaction import TransactionManagementError

from apps.audit.append import Appended, append, prepare, recorded_time
from apps.audit.dialects import dialect_of
from apps.audit.models import Content
from apps.audit.types import Actor, Batch, EntryDraft, WrittenEntry

CONTENT_ERASED = "audit.content_erased"
DIGESTS_PER_ENTRY = 500
"""Keeps an erasure entry near 40 KB however much is erased."""


def entries_append(*, batch: Batch, using: str = DEFAULT_DB_ALIAS) -> list[int]:
    """Append to the team's chain in the open transaction and return the seqs.

    The team's head stays locked until the caller commits, so append last and commit
    soon. Raises: TransactionManagementError outside of a transaction, NotCanonical,
    InvalidInput, StaleWrite.
    """
    return list(_append(batch, using).seqs[0])


def _append(batch: Batch, using: str) -> Appended:
    connection = connections[using]
    if not connection.in_atomic_block:
        raise TransactionManagementError(
            "entries are appended in the transaction of the change they report"
        )
    return append(connection, [prepare(batch, dialect_of(connection))])


def content_erase(
    *,
    team_id: UUID,
    digests: Iterable[str],
    actor: Actor,
    reason: str,
    using: str = DEFAULT_DB_ALIAS,
) -> tuple[WrittenEntry, ...]:
    """Remove bodies and their salts for good, and record that it was done.

    Chains stay verifiable: they hold only digests. Digests of another team, unknown or
    already erased ones are passed over; if none is left, no entry is written. Copies in
    backups are beyond its reach.
    """
    with transaction.atomic(using=using):
        present = (
            Content.objects.using(using)
            .for_team(team_id)
            .filter(digest__in=set(digests), sealed__isnull=False)
            .select_for_update()
        )
        erased = sorted(present.values_list("digest", flat=True))
        if not erased:
            return ()
        Content.objects.using(using).for_team(team_id).filter(digest__in=erased).update(
            sealed=None, salt=None
        )
        drafts = tuple(
            _erasure(team_id, erased[start : start + DIGESTS_PER_ENTRY], actor, reason)
            for start in range(0, len(erased), DIGESTS_PER_ENTRY)
        )
        appended = _append(Batch(team_id, drafts), using)
    recorded_at = recorded_time(appended.recorded)
    return tuple(WrittenEntry(seq, recorded_at) for seq in appended.seqs[0])


def _erasure(
    team_id: UUID, digests: list[str], actor: Actor, reason: str
) -> EntryDraft:
    return EntryDraft(
        action=CONTENT_ERASED,
        subject_type="team",
        subject_id=team_id,
        actor=actor,
        data={"digests": digests, "reason": reason},
    )
