"""Reading the ledger back: entries decoded, bodies decrypted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db.models import QuerySet

from apps.audit.append import GENESIS_HASH, content_context, recorded_time
from apps.audit.models import Content, Entry
from apps.audit.types import Actor, EntryView
from apps.core.keyring import unseal

PAGE = 500
"""Entries of one call, unless the caller wants another number."""


class _Row(NamedTuple):
    seq: int
    hash: str
    document: dict[str, Any]


def entry_list(
    team_id: UUID,
    *,
    subject_id: UUID | None = None,
    after_seq: int = 0,
    limit: int = PAGE,
) -> list[EntryView]:
    """Return entries of a team, or of one subject in it, in the order of the chain.

    Raises: SecretUnreadable if a body does not open.
    """
    entries = Entry.objects.for_team(team_id).filter(seq__gt=after_seq)
    if subject_id is not None:
        entries = entries.filter(subject_id=subject_id)
    return _views(team_id, entries.order_by("seq")[:limit])


def entries_by_subject(
    team_id: UUID, subjects: Collection[UUID]
) -> dict[UUID, list[EntryView]]:
    """Return all entries of some subjects of a team, each in the order of the chain.

    Raises: SecretUnreadable if a body does not open.
    """
    entries = Entry.objects.for_team(team_id).filter(subject_id__in=subjects)
    found: dict[UUID, list[EntryView]] = defaultdict(list)
    # In the order of the index: SQLite would go through the whole chain otherwise.
    for view in _views(team_id, entries.order_by("subject_id", "seq")):
        found[view.subject_id].append(view)
    return found


def _views(team_id: UUID, entries: QuerySet[Entry]) -> list[EntryView]:
    rows = [
        _Row(seq, text, orjson.loads(bytes(canonical)))
        for seq, text, canonical in entries.values_list("seq", "hash", "canonical")
    ]
    texts = _texts(team_id, rows)
    return [_view(row, texts) for row in rows]


def with_previous_hashes(
    team_id: UUID, entries: Sequence[EntryView]
) -> list[EntryView]:
    """Return entries of a team with the hashes that they are chained to."""
    known = {entry.seq + 1: entry.hash for entry in entries} | {1: GENESIS_HASH}
    unknown = [entry.seq - 1 for entry in entries if entry.seq not in known]
    neighbours = Entry.objects.for_team(team_id).filter(seq__in=unknown)
    for seq, text in neighbours.values_list("seq", "hash"):
        known[seq + 1] = text
    return [replace(e, previous_hash=known.get(e.seq, "")) for e in entries]


def texts_sample() -> list[bytes]:
    """Return the first and the last body in the order of the index, still sealed."""
    rows = Content.objects.across_teams().filter(sealed__isnull=False)
    orders = ("team_id", "seq", "name"), ("-team_id", "-seq", "-name")
    ends = (rows.order_by(*order).values_list("sealed", flat=True) for order in orders)
    return [bytes(sealed) for end in ends for sealed in end[:1] if sealed is not None]


def _texts(team_id: UUID, rows: Sequence[_Row]) -> dict[tuple[int, str], str]:
    """Return the bodies by seq and name, without those that have been erased."""
    bodies = {row.seq: row.document["bodies"] for row in rows}
    contents = Content.objects.for_team(team_id).filter(
        seq__in=[seq for seq, named in bodies.items() if named]
    )
    texts = {}
    for seq, name, sealed in contents.values_list("seq", "name", "sealed"):
        if sealed is not None and name in bodies[seq]:
            context = content_context(team_id, bodies[seq][name]["digest"])
            texts[seq, name] = unseal(bytes(sealed), context=context).decode()
    return texts


def _view(row: _Row, texts: dict[tuple[int, str], str]) -> EntryView:
    document = row.document
    target = document["targets"][0]
    recorded_at: datetime = recorded_time(document["recorded"])
    return EntryView(
        seq=row.seq,
        id=UUID(document["id"]),
        action=document["action"],
        outcome=document["outcome"],
        subject_type=target["type"],
        subject_id=UUID(target["id"]),
        recorded_at=recorded_at,
        actor=Actor(**document["actor"]),
        context=document["context"],
        data=document["data"],
        bodies={name: texts.get((row.seq, name)) for name in document["bodies"]},
        hash=row.hash,
    )
