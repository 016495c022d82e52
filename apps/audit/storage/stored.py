"""Reads the ledger's tables for verification: exactly as they are, in pages.

After tampering any column may hold anything; SQLite takes text for a number. Nothing
here judges what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from apps.audit import chain
from apps.audit.chain import Link, Position
from apps.audit.macs import Head
from apps.audit.models import ChainHead, Entry
from apps.audit.sql_dialects import dialect_of
from apps.audit.storage.compression import decompressed

NO_NUMBER = 2**63 - 1
"""Read in place of a seq that is no number, as SQLite can hold one: it fits nowhere."""
AT_ONCE = 200
"""Entries read at once where few are looked for."""
PAGE = 1_000
"""Entries read at once where most are passed over."""


class StoredHead(NamedTuple):
    """The row of a chain's end."""

    seq: int
    hash: str
    mac_from: int
    mac: bytes

    @property
    def head(self) -> Head:
        """Return what its code is of. Raises: ValueError if the hash is none."""
        end = Position(self.seq, chain.untagged(self.hash))
        return Head(end, self.mac_from, self.mac)


class StoredEntry(NamedTuple):
    """The row of an entry."""

    seq: int
    canonical: bytes
    hash: str
    mac: bytes
    action: str
    subject_type: str
    subject_id: Any
    recorded_at: str

    @property
    def link(self) -> Link:
        """Return what is needed to check its place."""
        return Link(self.seq, self.canonical, self.hash)


class StoredErasure(NamedTuple):
    """The row of an entry that says what was erased, and the hash before it."""

    seq: int
    canonical: bytes
    hash: str
    mac: bytes
    previous_hash: str


def stored_head(team_id: UUID) -> StoredHead | None:
    """Return the end of a team's chain; None if there is no such row."""
    heads = ChainHead.objects.filter(team_id=team_id)
    head = heads.values_list("seq", "hash", "mac_from", "mac").first()
    if head is None:
        return None
    seq, text, mac_from, mac = head
    return StoredHead(_number(seq), text, _number(mac_from), _binary(mac))


def stored_entries(
    team_id: UUID, after_seq: int, limit: int, subject_id: UUID | None = None
) -> list[StoredEntry]:
    """Return what comes next in a team's chain, or of one subject in it."""
    dialect = dialect_of(connection)
    sql = (
        "SELECT seq, canonical, hash, mac, action, subject_type, "  # nosec B608
        f"subject_id, {dialect.time_text} FROM audit_entry "
        "WHERE team_id = %s AND seq > %s"
    )
    params = [dialect.adapt(team_id), after_seq]
    if subject_id is not None:
        sql += " AND subject_id = %s"
        params.append(dialect.adapt(subject_id))
    return [
        StoredEntry(_number(seq), decompressed(canonical), text, _binary(mac), *rest)
        for seq, canonical, text, mac, *rest in _fetch(
            f"{sql} ORDER BY seq LIMIT {limit}", params
        )
    ]


def stored_links(team_id: UUID, seqs: Iterable[int]) -> dict[int, Link]:
    """Return entries of a team by their seq."""
    entries = Entry.objects.for_team(team_id).filter(seq__in=list(seqs))
    return {
        seq: Link(seq, bytes(canonical), text)
        for seq, canonical, text in entries.values_list("seq", "canonical", "hash")
    }


def stored_erasures(
    team_id: UUID, after_seq: int, action: str
) -> Iterator[StoredErasure]:
    """Yield the entries of `action` after a place of a team's chain."""
    sql = (
        "SELECT e.seq, e.canonical, e.hash, e.mac, p.hash FROM audit_entry e "
        "LEFT JOIN audit_entry p ON p.team_id = e.team_id AND p.seq = e.seq - 1 "
        "WHERE e.team_id = %s AND e.seq > %s AND e.action = %s "
        "ORDER BY e.seq LIMIT %s"
    )
    team = dialect_of(connection).adapt(team_id)
    page: Sequence[Any] = [None] * AT_ONCE
    while len(page) == AT_ONCE:
        page = _fetch(sql, [team, after_seq, action, AT_ONCE])
        for seq, canonical, text, mac, previous in page:
            yield StoredErasure(
                _number(seq),
                decompressed(canonical),
                text,
                _binary(mac),
                previous or "",
            )
            after_seq = seq


def entries_naming(
    team_id: UUID, subject_id: UUID, first_seq: int, last_seq: int
) -> Iterator[tuple[int, bytes]]:
    """Yield seq and bytes of entries that are filed under another subject and yet
    hold the id of this one somewhere.
    """
    sql = (
        "SELECT seq, canonical FROM audit_entry "
        "WHERE team_id = %s AND seq BETWEEN %s AND %s AND subject_id <> %s "
        "ORDER BY seq LIMIT %s"
    )
    adapt = dialect_of(connection).adapt
    needle = str(subject_id).encode()
    page: Sequence[Any] = [None] * PAGE
    while len(page) == PAGE:
        values = adapt(team_id), first_seq, last_seq, adapt(subject_id), PAGE
        page = _fetch(sql, values)
        for seq, stored in page:
            canonical = decompressed(stored)
            if needle in canonical:
                yield _number(seq), canonical
            first_seq = seq + 1


def _fetch(sql: str, params: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _number(value: Any) -> int:
    return value if isinstance(value, int) else NO_NUMBER


def _binary(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
