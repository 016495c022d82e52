"""Reading the ledger back: entries decoded, bodies decrypted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import connection

from apps.audit.append import GENESIS_HASH, content_context, recorded_time
from apps.audit.errors import EntryUnreadable
from apps.audit.models import ChainHead, Content, Entry
from apps.audit.sql_dialects import dialect_of
from apps.audit.storage.compression import decompressed
from apps.audit.types import Actor, EntryTexts, EntryView
from apps.core.keyring import unseal

PAGE = 500
"""Entries of one call, unless the caller wants another number."""


class _Entry(NamedTuple):
    view: EntryView
    digests: dict[str, str]
    """Of the bodies, by name."""
    texts: dict[str, str | None]
    """The bodies of the view."""


_TAMPERED = (ValueError, KeyError, TypeError, IndexError, AttributeError)
"""What reading the bytes of an entry raises if they are none of an entry."""


_READ = (
    "SELECT entry.seq, hash, canonical, name, sealed FROM ("
    "SELECT seq, hash, canonical, subject_id FROM audit_entry AS entry "
    "WHERE team_id = %s AND {which}) AS entry "
    "LEFT JOIN audit_content AS content ON content.team_id = %s "
    "AND content.seq = entry.seq AND sealed IS NOT NULL{names} ORDER BY {order}"
)
"""Entries with their bodies in one statement, written by hand: every look at a run
comes here, and to compose one costs several times what it costs to answer it."""
IN_CHAIN, BY_SUBJECT = "entry.seq", "subject_id, entry.seq"
"""Orders; the second is that of the index, SQLite goes through the whole chain
otherwise."""


def entry_list(
    team_id: UUID,
    *,
    subject_id: UUID | None = None,
    after_seq: int = 0,
    limit: int = PAGE,
) -> list[EntryView]:
    """Return entries of a team, or of one subject in it, in the order of the chain.

    Raises: EntryUnreadable, SecretUnreadable if a body does not open.
    """
    which = "seq > %s" if subject_id is None else "seq > %s AND subject_id = %s"
    subjects = [] if subject_id is None else [subject_id]
    which = f"{which} ORDER BY {IN_CHAIN} LIMIT %s"
    return _read(team_id, which, [after_seq, *subjects, limit], IN_CHAIN)


def entries_by_subject(
    team_id: UUID, subjects: Collection[UUID], *, texts: Collection[str] | None = None
) -> dict[UUID, list[EntryView]]:
    """Return all entries of some subjects of a team, each in the order of the chain.

    `texts`: names of the bodies to read; others look as if erased. None: all are read.
    Raises: EntryUnreadable, SecretUnreadable if a body does not open.
    """
    found: dict[UUID, list[EntryView]] = defaultdict(list)
    if subjects:
        which = f"subject_id IN ({', '.join(['%s'] * len(subjects))})"
        for view in _read(team_id, which, subjects, BY_SUBJECT, texts):
            found[view.subject_id].append(view)
    return found


def _read(
    team_id: UUID,
    which: str,
    values: Collection[Any],
    order: str,
    texts: Collection[str] | None = None,
) -> list[EntryView]:
    names = "" if texts is None else " AND 1 = 0"
    if texts:
        names = f" AND name IN ({', '.join(['%s'] * len(texts))})"
    given = map(
        dialect_of(connection).adapt, [team_id, *values, team_id, *(texts or ())]
    )
    with connection.cursor() as cursor:
        sql = _READ.format(which=which, order=order, names=names)
        cursor.execute(sql, list(given))
        rows = cursor.fetchall()
    entries: dict[int, _Entry] = {}
    for seq, text, canonical, name, sealed in rows:
        if seq not in entries:
            entries[seq] = _entry(team_id, seq, text, decompressed(canonical))
        entry = entries[seq]
        if name in entry.digests:
            context = content_context(team_id, entry.digests[name])
            entry.texts[name] = unseal(bytes(sealed), context=context).decode()
    return [entry.view for entry in entries.values()]


def texts_recorded_before(
    team_id: UUID, moment: datetime, *, after_seq: int, limit: int
) -> list[EntryTexts]:
    """Return the next entries of a team's chain, of those older than `moment`.

    Entries without texts are among them: they show how far the chain was looked at.
    """
    entries = Entry.objects.for_team(team_id).filter(seq__gt=after_seq).order_by("seq")
    rows = entries.values_list("seq", "subject_id", "recorded_at", "canonical")[:limit]
    older = takewhile(lambda row: row[2] < moment, rows)
    return [
        EntryTexts(seq, subject_id, at, tuple(orjson.loads(bytes(canonical))["bodies"]))
        for seq, subject_id, at, canonical in older
    ]


def chain_team_ids() -> list[UUID]:
    """Return every team that has a chain, those that were deleted too."""
    return list(ChainHead.objects.order_by("team_id").values_list("team_id", flat=True))


def chain_ends() -> dict[UUID, int]:
    """Return the place of the last entry of every chain, by team."""
    return dict(ChainHead.objects.values_list("team_id", "seq"))


def subjects_of(
    team_id: UUID, actions: Collection[str], *, after_seq: int, through_seq: int
) -> set[UUID]:
    """Return what the entries with these actions in a part of a chain are about."""
    entries = Entry.objects.for_team(team_id).filter(
        seq__gt=after_seq, seq__lte=through_seq
    )
    rows = entries.values_list("action", "subject_id")
    return {subject_id for action, subject_id in rows if action in actions}


def newest_subjects(
    team_id: UUID, subject_type: str, *, after_seq: int, limit: int
) -> tuple[list[UUID], bool]:
    """Return what the newest entries after a place are about, the newest first.

    At most `limit` entries are looked at; the second value says whether there are more.
    """
    entries = Entry.objects.for_team(team_id).filter(seq__gt=after_seq)
    rows = entries.order_by("-seq").values_list("subject_type", "subject_id")
    found = list(rows[: limit + 1])
    ids = [each for kind, each in found[:limit] if kind == subject_type]
    return list(dict.fromkeys(ids)), len(found) > limit


def first_seq_of(team_id: UUID, subject_id: UUID) -> int | None:
    """Return where the entries of a subject begin; None if there are none."""
    entries = Entry.objects.for_team(team_id).filter(subject_id=subject_id)
    return entries.order_by("seq").values_list("seq", flat=True).first()


def entry_recorded_at(team_id: UUID, seq: int) -> datetime | None:
    """Return when an entry was recorded; None if there is no such entry."""
    entries = Entry.objects.for_team(team_id).filter(seq=seq)
    return entries.values_list("recorded_at", flat=True).first()


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


def _entry(team_id: UUID, seq: int, digest: str, canonical: bytes) -> _Entry:
    """Return an entry without its texts yet. Raises: EntryUnreadable."""
    try:
        document = orjson.loads(canonical)
        bodies = document["bodies"]
        digests = {name: str(body["digest"]) for name, body in bodies.items()}
        texts: dict[str, str | None] = dict.fromkeys(digests)
        target = document["targets"][0]
        view = EntryView(
            seq=seq,
            id=UUID(document["id"]),
            action=document["action"],
            outcome=document["outcome"],
            subject_type=target["type"],
            subject_id=UUID(target["id"]),
            recorded_at=recorded_time(document["recorded"]),
            actor=Actor(**document["actor"]),
            context=dict(document["context"]),
            data=dict(document["data"]),
            bodies=texts,
            hash=digest,
        )
    except _TAMPERED as exc:
        raise EntryUnreadable(team_id, seq) from exc
    return _Entry(view, digests, texts)
