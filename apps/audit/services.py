"""Appending in the current transaction, erasing bodies, accepting a head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import orjson
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.transaction import TransactionManagementError

from apps.audit.append import Appended, append, prepare, recorded_time
from apps.audit.chain import Position, untagged
from apps.audit.macs import NO_MAC, Head, entry_fault, head_fault, head_mac, mac_key
from apps.audit.models import ChainHead, Content, Entry, TreeNode
from apps.audit.sql_dialects import dialect_of
from apps.audit.types import Actor, Batch, EntryDraft, Erasure, WrittenEntry
from apps.core.errors import InvalidInput

CONTENT_ERASED = "audit.content_erased"
HEAD_ACCEPTED = "audit.head_accepted"
VERIFIED = "audit.verified"
BODIES_PER_ENTRY = 300
"""Keeps an erasure entry near 40 KB however much is erased."""


def entries_append(*, batch: Batch, using: str = DEFAULT_DB_ALIAS) -> list[int]:
    """Append to the team's chain in the open transaction and return the seqs.

    The team's head stays locked until that commits, so append last and commit
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
    places: Iterable[tuple[int, str]],
    actor: Actor,
    reason: str,
    using: str = DEFAULT_DB_ALIAS,
) -> Erasure:
    """Remove bodies and their salts for good, and record that it was done.

    A place is the seq of an entry and the name of a body in it. Chains stay verifiable:
    they hold only digests. Places of no body, or of one already erased, are passed
    over; if none is left, no entry is written. Copies in backups are beyond its reach.
    """
    with transaction.atomic(using=using):
        erased = _erase(team_id, places, using)
        if not erased:
            return Erasure(0, ())
        drafts = tuple(
            _erasure(team_id, erased[start : start + BODIES_PER_ENTRY], actor, reason)
            for start in range(0, len(erased), BODIES_PER_ENTRY)
        )
        appended = _append(Batch(team_id, drafts), using)
    recorded_at = recorded_time(appended.recorded)
    entries = tuple(WrittenEntry(seq, recorded_at) for seq in appended.seqs[0])
    return Erasure(len(erased), entries)


def head_accept(
    *, team_id: UUID, actor: Actor, reason: str, using: str = DEFAULT_DB_ALIAS
) -> WrittenEntry:
    """Record that an operator accepts a chain as it stands, and give its head a code.

    Entries without a right code stay as they are: verification goes on naming them.
    Raises: InvalidInput if the head is right, or there is no chain.
    """
    with transaction.atomic(using=using):
        heads = ChainHead.objects.using(using).select_for_update()
        head = heads.filter(team_id=team_id).first()
        if head is None or head_fault(team_id, _head_of(head)) is None:
            raise InvalidInput("the head of this chain needs no acceptance")
        draft = EntryDraft(
            HEAD_ACCEPTED, "team", team_id, actor, {"at": head.seq, "reason": reason}
        )
        appended = _append(Batch(team_id, (draft,)), using)
        head.refresh_from_db()
        head.mac_from = min(head.mac_from, _first_authentic(team_id, using))
        head.mac = head_mac(mac_key(), team_id, _head_of(head).end, head.mac_from)
        head.save(using=using, update_fields=["mac_from", "mac"])
        # The tree is made again of the entries as they stand now.
        TreeNode.objects.using(using).for_team(team_id).delete()
    return WrittenEntry(appended.seqs[0][0], recorded_time(appended.recorded))


def _head_of(row: ChainHead) -> Head:
    return Head(Position(row.seq, untagged(row.hash)), row.mac_from, bytes(row.mac))


def _first_authentic(team_id: UUID, using: str) -> int:
    """Return the first entry with a right code, wherever `mac_from` was moved."""
    entries = Entry.objects.using(using).for_team(team_id).exclude(mac=NO_MAC)
    rows = entries.order_by("seq").values_list("seq", "hash", "mac")
    return next(
        seq
        for seq, text, mac in rows.iterator()
        if entry_fault(bytes(mac), untagged(text)) is None
    )


def _erase(
    team_id: UUID, places: Iterable[tuple[int, str]], using: str
) -> list[dict[str, Any]]:
    """Erase what is there to erase; return what it was, as the entry will name it."""
    wanted = set(places)
    contents = Content.objects.using(using).for_team(team_id)
    stored = contents.filter(seq__in={seq for seq, _ in wanted}, sealed__isnull=False)
    rows = stored.select_for_update().order_by("seq", "name")
    present = [row for row in rows.values_list("seq", "name") if row in wanted]
    seqs: dict[str, list[int]] = defaultdict(list)
    for seq, name in present:
        seqs[name].append(seq)
    for name, of_name in seqs.items():
        contents.filter(seq__in=of_name, name=name).update(sealed=None, salt=None)
    entries = Entry.objects.using(using).for_team(team_id)
    canonicals = entries.filter(seq__in={seq for seq, _ in present})
    bodies = {
        seq: orjson.loads(bytes(canonical))["bodies"]
        for seq, canonical in canonicals.values_list("seq", "canonical")
    }
    return [
        {"seq": seq, "name": name, "digest": bodies[seq][name]["digest"]}
        for seq, name in present
    ]


def _erasure(
    team_id: UUID, bodies: list[dict[str, Any]], actor: Actor, reason: str
) -> EntryDraft:
    return EntryDraft(
        action=CONTENT_ERASED,
        subject_type="team",
        subject_id=team_id,
        actor=actor,
        data={"bodies": bodies, "reason": reason},
    )
