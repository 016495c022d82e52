"""The one place that adds to the ledger; `services` and `writer` both end here.

`prepare` does what needs no database: it encodes drafts, salts, digests and encrypts
bodies, and refuses what is malformed. `append` then links the entries in the open
transaction. Projection rows are written before the heads are locked, because callers
with their own transaction do it in that order too: so neither waits for the other.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit import chain
from apps.audit.canonical_json import canonical_bytes
from apps.audit.checkpoints.format import is_due, sign
from apps.audit.errors import NotCanonical, StaleWrite
from apps.audit.macs import NO_MAC, Head, MacKey, head_fault, head_mac, mac_key
from apps.audit.sql_dialects import Dialect, dialect_of
from apps.audit.storage.compression import MAX_ENTRY_BYTES, compressed
from apps.audit.types import Actor, Batch, EntryDraft, RowWrite
from apps.core.errors import InvalidInput
from apps.core.ids import new_id
from apps.core.keyring import seal

TIME_BYTES = len("2030-01-31T12:00:00.123456Z")
GENESIS_HASH = chain.tagged(chain.GENESIS)
PLAIN_TYPES = frozenset({str, int, bool, bytes, type(None)})
"""Parameters that every driver takes as they are: nearly all of them."""


class PreparedEntry(NamedTuple):
    """An entry but for its time and place."""

    action: str
    subject_type: str
    subject_id: Any
    """As the driver takes it."""
    head: bytes
    """Canonical JSON up to the time."""
    tail: bytes
    """Canonical JSON after the time."""
    contents: list[tuple[str, bytes, bytes, int]]
    """Name, salt, sealed text and size of each body."""


class PreparedBatch(NamedTuple):
    """A batch, ready for `append`."""

    team_id: UUID
    entries: list[PreparedEntry]
    writes: list[tuple[tuple[int, str, bool], tuple[Any, ...]]]
    """(phase, SQL, must change a row) and parameters."""


class Appended(NamedTuple):
    """Where the entries of a group of batches went."""

    seqs: list[range]
    """One for each batch."""
    recorded: str
    first: tuple[UUID, int, str]
    """Team, seq and hash of the first entry: tells whether a commit was done."""
    waited_s: float
    """How long other processes held the heads; 0 where no row can be locked."""


class _Links(NamedTuple):
    """The rows of a commit, in the order of their columns."""

    rows: list[tuple[Any, ...]]
    """The rows of entries without their last column, `canonical`."""
    canonicals: list[bytes]
    """The hashed bytes of the same entries, which are compressed in one call."""
    contents: list[tuple[Any, ...]]


def content_context(team_id: UUID, digest: str) -> bytes:
    """Return what the encryption of a body is bound to."""
    return b"audit.content" + team_id.bytes + digest.encode()


def recorded_time(recorded: str) -> datetime:
    """Return the time an entry holds."""
    return datetime.fromisoformat(recorded)


def prepare(batch: Batch, dialect: Dialect) -> PreparedBatch:
    """Do the work on `batch` that needs no database.

    Raises: NotCanonical for values the ledger cannot hold, InvalidInput without drafts
    or for an entry too large to be read again.
    """
    if not batch.drafts:
        raise InvalidInput("a batch needs at least one entry")
    entries = [_prepare_entry(batch.team_id, d, dialect) for d in batch.drafts]
    writes = [
        ((w.phase, w.sql, w.must_change_row), _parameters(w, dialect))
        for w in batch.writes
    ]
    return PreparedBatch(batch.team_id, entries, writes)


def _parameters(write: RowWrite, dialect: Dialect) -> tuple[Any, ...]:
    plain, adapt = PLAIN_TYPES, dialect.adapt
    return tuple([p if type(p) in plain else adapt(p) for p in write.params])


def _seal_body(
    team_id: UUID, name: str, text: str
) -> tuple[str, tuple[str, bytes, bytes, int]]:
    try:
        plain = text.encode()
    except UnicodeEncodeError as exc:
        raise NotCanonical(f"body {name!r} is not valid Unicode") from exc
    salt = os.urandom(chain.SALT_BYTES)
    digest = chain.tagged(chain.body_digest(salt, plain))
    sealed = seal(plain, context=content_context(team_id, digest))
    return digest, (name, salt, sealed, len(plain))


def _prepare_entry(team_id: UUID, draft: EntryDraft, dialect: Dialect) -> PreparedEntry:
    contents = []
    bodies = []
    for name in sorted(draft.bodies):
        digest, content = _seal_body(team_id, name, draft.bodies[name])
        contents.append(content)
        bodies.append(
            b'%b:{"bytes":%d,"digest":"%b"}' % (_key(name), content[3], digest.encode())
        )
    # Put together by hand, in the order of the keys, since most parts come again.
    head = (
        b'{"action":%b,"actor":%b,"bodies":{%b},"context":%b,"data":%b,"id":"%b"'
        b',"outcome":%b,"recorded":"'
    ) % (
        _word(draft.action),
        _actor(draft.actor),
        b",".join(bodies),
        _context(draft.actor.context),
        canonical_bytes(dict(draft.data)),
        str(new_id()).encode(),
        _word(draft.outcome),
    )
    tail = _tail(draft.subject_type, draft.subject_id)
    if len(head) + TIME_BYTES + len(tail) > MAX_ENTRY_BYTES:
        raise InvalidInput(f"an entry may have {MAX_ENTRY_BYTES} bytes at most")
    return PreparedEntry(
        draft.action,
        draft.subject_type,
        dialect.adapt(draft.subject_id),
        head,
        tail,
        contents,
    )


def _context(context: Mapping[str, str]) -> bytes:
    return canonical_bytes(dict(context)) if context else b"{}"


@lru_cache(maxsize=1024, typed=True)
def _word(text: str) -> bytes:
    return canonical_bytes(text)


@lru_cache(maxsize=1024, typed=True)
def _key(name: str) -> bytes:
    return canonical_bytes({name: 0})[1 : -len(":0}")]


@lru_cache(maxsize=1024, typed=True)
def _tail(subject_type: str, subject_id: UUID) -> bytes:
    return b'","targets":[{"id":"%b","type":%b}],"v":1}' % (
        str(subject_id).encode(),
        _word(subject_type),
    )


@lru_cache(maxsize=1024, typed=True)
def _actor(actor: Actor) -> bytes:
    values = {"display": actor.display, "id": actor.id, "type": actor.type}
    if actor.on_behalf_of:
        values["on_behalf_of"] = actor.on_behalf_of
    return canonical_bytes(values)


def append(connection: BaseDatabaseWrapper, group: Sequence[PreparedBatch]) -> Appended:
    """Link the entries of `group` to their chains, in the open transaction.

    Speaks to the driver itself: on this way Django's cursors would cost as much as the
    statements. Errors are Django's all the same.
    """
    dialect = dialect_of(connection)
    with connection.wrap_database_errors, closing(connection.connection.cursor()) as c:
        _run_writes(c, dialect, group)
        start_s = time.monotonic()
        begins = lock_heads(c, dialect, {batch.team_id for batch in group})
        waited_s = time.monotonic() - start_s if dialect.lock else 0.0
        ends = {team_id: head.end for team_id, head in begins.items()}
        key = mac_key()
        recorded = dialect.now(c)
        moment = recorded.encode(), dialect.adapt(recorded_time(recorded))
        links = _Links([], [], [])
        seqs = []
        for batch in group:
            begin = ends[batch.team_id]
            end = _link(batch, begin, moment, dialect, key, links)
            seqs.append(range(begin.seq + 1, end.seq + 1))
            ends[batch.team_id] = end
        macs = {
            team_id: _next_head_mac(key, team_id, begins[team_id], end)
            for team_id, end in ends.items()
        }
        c.executemany(
            dialect.marked(_MOVE_HEAD),
            [
                (end.seq, chain.tagged(end.hash), macs[team_id], dialect.adapt(team_id))
                for team_id, end in ends.items()
            ],
        )
        # After that: PostgreSQL sees no standstill after an executemany of psycopg's.
        frames = compressed(links.canonicals)
        rows = [(*row, frame) for row, frame in zip(links.rows, frames, strict=True)]
        dialect.insert(c, _ENTRIES, rows)
        dialect.insert(c, _CONTENTS, links.contents)
        for team_id, end in ends.items():
            if macs[team_id] and is_due(begins[team_id].end.seq, end.seq):
                _add_checkpoint(c, dialect, team_id, end, recorded)
    first_hash = links.rows[0][-1]
    first = group[0].team_id, seqs[0].start, first_hash
    return Appended(seqs, recorded, first, waited_s)


def _next_head_mac(
    key: MacKey, team_id: UUID, head: Head, end: chain.Position
) -> bytes:
    """Return the code of a head that moves to `end`.

    If it is not right where it stands, it never is again: what was added behind the
    site's back is not signed with what comes after it.
    """
    if head_fault(team_id, head) is not None:
        return NO_MAC
    return head_mac(key, team_id, end, head.mac_from)


def _add_checkpoint(
    cursor: Any, dialect: Dialect, team_id: UUID, end: chain.Position, recorded: str
) -> None:
    """Sign the end of a chain; it is copied once this transaction is committed."""
    made = sign(team_id, end.seq, chain.tagged(end.hash), recorded)
    row = (dialect.adapt(team_id), *made[1:])
    cursor.execute(dialect.marked(_INSERT_CHECKPOINT), row)


def lock_heads(
    cursor: Any, dialect: Dialect, team_ids: Iterable[UUID]
) -> dict[UUID, Head]:
    """Lock the heads of some teams and return them; a missing one is created.

    Always in the order of team ids, so that two transactions cannot wait for each
    other. The head is read anew each time: other connections append as well. Takes a
    cursor of the driver.
    """
    ordered = sorted(team_ids)
    params = [dialect.adapt(team_id) for team_id in ordered]
    heads = _select_heads(cursor, dialect, params)
    if len(heads) < len(params):
        cursor.executemany(
            dialect.marked(_CREATE_HEAD),
            [(dialect.adapt(team_id), *_first_head(team_id)) for team_id in ordered],
        )
        heads = _select_heads(cursor, dialect, params)
    return {team_id: heads[team_id] for team_id in ordered}


def _first_head(team_id: UUID) -> tuple[str, int, bytes]:
    """Return hash, first entry with a code, and code of a chain without entries."""
    return GENESIS_HASH, 1, head_mac(mac_key(), team_id, chain.START, 1)


def _select_heads(cursor: Any, dialect: Dialect, params: list[Any]) -> dict[UUID, Head]:
    marks = ", ".join([dialect.mark] * len(params))
    cursor.execute(
        "SELECT team_id, seq, hash, mac_from, mac FROM audit_chainhead "  # nosec B608
        f"WHERE team_id IN ({marks}) ORDER BY team_id{dialect.lock}",
        params,
    )
    return {
        team: Head(chain.Position(seq, chain.untagged(text)), mac_from, bytes(mac))
        for team, seq, text, mac_from, mac in cursor.fetchall()
    }


def _link(
    batch: PreparedBatch,
    head: chain.Position,
    moment: tuple[bytes, Any],
    dialect: Dialect,
    key: MacKey,
    links: _Links,
) -> chain.Position:
    """Add the batch's rows of both tables and return the new end of the chain."""
    seq, previous = head
    adapt, (recorded, recorded_at) = dialect.adapt, moment
    team = adapt(batch.team_id)
    for entry in batch.entries:
        seq += 1
        canonical = entry.head + recorded + entry.tail
        previous = chain.entry_hash(batch.team_id, seq, previous, canonical)
        links.canonicals.append(canonical)
        links.rows.append(
            (
                team,
                seq,
                entry.action,
                entry.subject_type,
                entry.subject_id,
                recorded_at,
                key.entry_mac(previous),
                chain.tagged(previous),
            )
        )
        for content in entry.contents:
            links.contents.append((team, seq, *content))
    return chain.Position(seq, previous)


def _run_writes(cursor: Any, dialect: Dialect, group: Sequence[PreparedBatch]) -> None:
    """Run the projections' statements by phase, equal ones together and in order."""
    statements: dict[tuple[int, str, bool], list[tuple[Any, ...]]] = {}
    for batch in group:
        for statement, params in batch.writes:
            statements.setdefault(statement, []).append(params)
    for (_, sql, must_change_row), rows in sorted(
        statements.items(), key=lambda item: item[0][0]
    ):
        insertion = _INSERTION.match(sql) if len(rows) > 1 else None
        if insertion and not must_change_row:
            dialect.insert(cursor, insertion["into"], rows)
            continue
        cursor.executemany(dialect.marked(sql), rows)
        if must_change_row and cursor.rowcount != len(rows):
            raise StaleWrite("a row was not in the state this write expects")


_INSERTION = re.compile(r"INSERT INTO (?P<into>\w+ \([^()]+\)) VALUES \((%s, )*%s\)$")
"""An INSERT that can as well take many rows."""
_CREATE_HEAD = (
    "INSERT INTO audit_chainhead (team_id, seq, hash, mac_from, mac) "
    "VALUES (%s, 0, %s, %s, %s) ON CONFLICT DO NOTHING"
)
_MOVE_HEAD = (
    "UPDATE audit_chainhead SET seq = %s, hash = %s, mac = %s WHERE team_id = %s"
)
_ENTRIES = (
    "audit_entry (team_id, seq, action, subject_type, subject_id, recorded_at, mac, "
    "hash, canonical)"
)
_CONTENTS = "audit_content (team_id, seq, name, salt, sealed, size)"
_INSERT_CHECKPOINT = (
    "INSERT INTO audit_checkpoint (team_id, seq, hash, recorded, key_id, signature, "
    "root) "
    # One that is there already is of a chain that was cut: what was signed stays.
    "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
)
