"""Proves, or disproves, that nobody has touched the ledger. Reads only.

Everything is derived anew: sequence, hashes, the head, the columns from the hashed
bytes, the digests from the decrypted bodies. A chain of any length is walked in pages.
It runs beside writers without a transaction: the head is read before each page, so an
entry the head knows of must be found. Whoever rewrites every row from some place to the
end, head included, cannot sign the checkpoints anew (`witnesses.py`); whoever removes
those too is found by their copies outside of the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import connection

from apps.audit import chain
from apps.audit.append import content_context
from apps.audit.chain import ChainFault, FaultKind, Link, Position
from apps.audit.dialects import dialect_of
from apps.audit.models import ChainHead, Content, Entry
from apps.audit.services import CONTENT_ERASED
from apps.audit.signing import PublicKeys, own_public_keys
from apps.audit.witnesses import all_witnesses, newest_witness
from apps.core.errors import SecretUnreadable
from apps.core.keyring import unseal

PAGE = 500
"""Entries in memory at once, with their bodies."""
MAX_MISSING = 20_000
"""Missing bodies remembered before they are compared with the erasures."""
NO_NUMBER = 2**63 - 1
"""Read in place of a seq that is no number, as SQLite can hold one: it fits nowhere."""
_WHOLE_SECOND = ".000000"
_ID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")
_KEYS = {
    "action",
    "actor",
    "bodies",
    "context",
    "data",
    "id",
    "outcome",
    "recorded",
    "targets",
    "v",
}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was checked and the first fault, if there is one."""

    team_id: UUID
    entries: int
    """Entries found sound, in order, up to the fault."""
    bodies: int
    """Bodies decrypted and found to match their digests."""
    erased: int
    """Bodies that are gone; each must be covered by an entry that says so."""
    checkpoints: int
    """Signed checkpoints that say what the entries say."""
    end: Position
    """The last sound entry; its hash stands for the whole chain before it."""
    fault: ChainFault | None

    @property
    def is_intact(self) -> bool:
        """Say whether no fault was found."""
        return self.fault is None


class _Row(NamedTuple):
    """An entry exactly as the table holds it: after tampering that may be anything."""

    seq: int
    canonical: bytes
    hash: str
    id: Any
    action: str
    subject_type: str
    subject_id: Any
    recorded_at: str

    @property
    def link(self) -> Link:
        return Link(self.seq, self.canonical, self.hash)


class _Place(NamedTuple):
    """Where a body belongs, as its entry and the record of its erasure name it."""

    seq: int
    name: str
    digest: str


class _Body(NamedTuple):
    """What an entry says about one of its bodies."""

    place: _Place
    size: int


class _Content(NamedTuple):
    """What is stored of a body."""

    salt: Any
    sealed: Any
    size: Any


@dataclass(slots=True)
class _Tally:
    """What a walk has seen so far."""

    team_id: UUID
    entries: int = 0
    bodies: int = 0
    erased: int = 0
    checkpoints: int = 0
    missing: set[_Place] = field(default_factory=set)
    """Bodies that are gone."""
    fault: ChainFault | None = None

    def blame(self, fault: ChainFault | None) -> None:
        """Keep the fault that comes first in the chain."""
        if fault and (self.fault is None or fault.seq < self.fault.seq):
            self.fault = fault

    def settle(self) -> None:
        """Compare the missing bodies with the erasures on record."""
        if not self.missing:
            return
        erasures = (
            Entry.objects.for_team(self.team_id)
            .filter(seq__gt=min(self.missing).seq, action=CONTENT_ERASED)
            .order_by("seq")
        )
        for canonical in erasures.values_list("canonical", flat=True).iterator():
            self.missing -= _erased(_binary(canonical))
        if self.missing:
            seq, name, _ = min(self.missing)
            detail = f"no entry says that {name!r} was erased"
            self.blame(ChainFault(seq, FaultKind.CONTENT_MISSING, detail))
        self.missing.clear()

    def hear(self, found: Iterable[ChainFault | None]) -> None:
        """Count checkpoints that agree with the chain, up to one that does not."""
        for fault in found:
            if fault:
                self.blame(fault)
                break
            self.checkpoints += 1

    def report(self, end: Position) -> VerifyReport:
        """Return the result."""
        self.settle()
        return VerifyReport(
            self.team_id,
            self.entries,
            self.bodies,
            self.erased,
            self.checkpoints,
            end,
            self.fault,
        )


def team_ids() -> list[UUID]:
    """Return every team that has a chain, or entries or checkpoints without one."""
    tables = ("audit_chainhead", "audit_entry", "audit_checkpoint")
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ".join(f"SELECT team_id FROM {table}" for table in tables)  # nosec B608
        )
        texts = [str(team_id) for (team_id,) in cursor.fetchall()]
    # A row moved to something that is no team is missed in the team it came from.
    return sorted(UUID(text) for text in texts if _ID.fullmatch(text))


def verify_team(team_id: UUID, keys: PublicKeys | None = None) -> VerifyReport:
    """Walk a team's chain from its first entry to its head, then its checkpoints.

    `keys`: whose checkpoints count; those of this site if none are given.
    """
    tally = _Tally(team_id)
    end = chain.START
    while tally.fault is None:
        head = _head(team_id)
        rows = _rows(team_id, end.seq)
        if not rows:
            tally.blame(_head_fault(head, end))
            break
        check = chain.verify_chain(team_id, (row.link for row in rows), start=end)
        tally.blame(check.fault)
        _check_rows(tally, rows[: check.end.seq - end.seq])
        end = check.end
    tally.hear(all_witnesses(team_id, _keys_or_own(keys)))
    return tally.report(end)


def verify_subject(
    team_id: UUID, subject_id: UUID, keys: PublicKeys | None = None
) -> VerifyReport:
    """Check the entries of one subject and how they sit between their neighbours.

    And that the chain reaches the team's newest checkpoint. Quick, and enough to trust
    what a page shows. That no entry was taken away far from the others, only
    `verify_team` can tell.
    """
    tally = _Tally(team_id)
    end = chain.START
    while tally.fault is None:
        rows = _rows(team_id, end.seq, subject_id)
        if not rows:
            break
        head = _head(team_id)
        links = _with_neighbours(team_id, rows)
        sound = 0
        for row in rows:
            fault = _place_fault(team_id, row, links, head)
            if fault:
                tally.blame(fault)
                break
            sound += 1
            end = Position(row.seq, chain.untagged(row.hash))
        _check_rows(tally, rows[:sound])
    if tally.entries:
        tally.hear(newest_witness(team_id, _keys_or_own(keys)))
    return tally.report(end)


def _keys_or_own(keys: PublicKeys | None) -> PublicKeys:
    return own_public_keys() if keys is None else keys


# --- places --------------------------------------------------------------------------


def _head(team_id: UUID) -> tuple[int, str] | None:
    heads = ChainHead.objects.filter(team_id=team_id)
    head = heads.values_list("seq", "hash").first()
    return head and (_number(head[0]), head[1])


def _rows(team_id: UUID, after_seq: int, subject_id: UUID | None = None) -> list[_Row]:
    dialect = dialect_of(connection)
    sql = (
        "SELECT seq, canonical, hash, id, action, subject_type, "  # nosec B608
        f"subject_id, {dialect.time_text} FROM audit_entry "
        "WHERE team_id = %s AND seq > %s"
    )
    params = [dialect.adapt(team_id), after_seq]
    if subject_id is not None:
        sql += " AND subject_id = %s"
        params.append(dialect.adapt(subject_id))
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} ORDER BY seq LIMIT {PAGE}", params)
        return [
            _Row(_number(seq), _binary(canonical), *rest)
            for seq, canonical, *rest in cursor.fetchall()
        ]


def _number(value: Any) -> int:
    return value if isinstance(value, int) else NO_NUMBER


def _binary(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _head_fault(head: tuple[int, str] | None, end: Position) -> ChainFault | None:
    """Compare the head, read before there were no more entries, with the last entry."""
    if head is None:
        if end.seq == 0:
            return None
        return ChainFault(end.seq, FaultKind.HEAD_MISSING, "the chain has no head")
    seq, text = head
    if seq > end.seq:
        detail = f"the head is at {seq}, the last entry at {end.seq}"
        return ChainFault(end.seq + 1, FaultKind.TAIL_MISSING, detail)
    if seq < end.seq:
        detail = f"the head is at {seq}, the last entry at {end.seq}"
        return ChainFault(max(seq, 0) + 1, FaultKind.HEAD_BEHIND, detail)
    if text != chain.tagged(end.hash):
        detail = f"the head says {text!r}, the entry {chain.tagged(end.hash)!r}"
        return ChainFault(seq, FaultKind.HEAD_CHANGED, detail)
    return None


def _with_neighbours(team_id: UUID, rows: Sequence[_Row]) -> dict[int, Link]:
    seqs = {row.seq + step for row in rows for step in (-1, 0, 1)}
    entries = Entry.objects.for_team(team_id).filter(seq__in=seqs)
    return {
        seq: Link(seq, _binary(canonical), text)
        for seq, canonical, text in entries.values_list("seq", "canonical", "hash")
    }


def _place_fault(
    team_id: UUID, row: _Row, links: dict[int, Link], head: tuple[int, str] | None
) -> ChainFault | None:
    """Check one entry against the one before, the one after or the head."""
    seq = row.seq
    previous = chain.GENESIS
    if seq != 1:
        if seq - 1 not in links:
            detail = f"nothing comes before entry {seq}"
            return ChainFault(seq - 1, FaultKind.SEQUENCE_GAP, detail)
        try:
            previous = chain.untagged(links[seq - 1].hash)
        except ValueError as exc:
            return ChainFault(seq - 1, FaultKind.HASH_MISMATCH, str(exc))
    following = [links[seq + 1]] if seq + 1 in links else []
    start = Position(seq - 1, previous)
    check = chain.verify_chain(team_id, [row.link, *following], start=start)
    return check.fault or (None if following else _head_fault(head, check.end))


# --- entries and bodies --------------------------------------------------------------


def _check_rows(tally: _Tally, rows: Iterable[_Row]) -> None:
    """Check the columns and bodies of entries whose places are sound."""
    bodies: list[_Body] = []
    for row in rows:
        try:
            fault = _entry_fault(row, bodies)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as exc:
            detail = f"not an entry: {type(exc).__name__} {exc}"
            fault = ChainFault(row.seq, FaultKind.NOT_CANONICAL, detail)
        if fault:
            tally.blame(fault)
            break
        tally.entries += 1
    contents = _contents(tally.team_id, bodies)
    for body in bodies:
        _check_body(tally, body, contents.get(body.place[:2]))
    if len(tally.missing) > MAX_MISSING:
        tally.settle()


def _entry_fault(row: _Row, bodies: list[_Body]) -> ChainFault | None:
    """Compare the columns with the bytes; note the bodies the entry refers to."""
    document = orjson.loads(row.canonical)
    encoded = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    if encoded != row.canonical or document.keys() != _KEYS or document["v"] != 1:
        return ChainFault(row.seq, FaultKind.NOT_CANONICAL, "not an entry of version 1")
    target = document["targets"][0]
    recorded = document["recorded"].replace("T", " ").removesuffix("Z")
    for column, stored, hashed in (
        ("id", _hex(row.id), _hex(document["id"])),
        ("action", row.action, document["action"]),
        ("subject_type", row.subject_type, target["type"]),
        ("subject_id", _hex(row.subject_id), _hex(target["id"])),
        (
            "recorded_at",
            row.recorded_at.removesuffix(_WHOLE_SECOND),
            recorded.removesuffix(_WHOLE_SECOND),
        ),
    ):
        if stored != hashed:
            detail = f"{column} is {stored!r}, hashed was {hashed!r}"
            return ChainFault(row.seq, FaultKind.COLUMN_CHANGED, detail)
    for name, body in document["bodies"].items():
        chain.untagged(body["digest"])  # raises if it is none
        bodies.append(_Body(_Place(row.seq, name, body["digest"]), body["bytes"]))
    return None


def _hex(value: Any) -> str:
    """Return an id, which SQLite stores without dashes, in one way."""
    return str(value).replace("-", "")


def _contents(
    team_id: UUID, bodies: Iterable[_Body]
) -> dict[tuple[int, str], _Content]:
    seqs = {body.place.seq for body in bodies}
    rows = Content.objects.for_team(team_id).filter(seq__in=seqs)
    return {
        (seq, name): _Content(*values)
        for seq, name, *values in rows.values_list(
            "seq", "name", "salt", "sealed", "size"
        )
    }


def _check_body(tally: _Tally, body: _Body, content: _Content | None) -> None:
    (seq, name, expected), size = body
    if content is None or content.sealed is None:
        tally.missing.add(body.place)
        tally.erased += 1
        return
    try:
        text = unseal(
            bytes(content.sealed), context=content_context(tally.team_id, expected)
        )
        digest = chain.body_digest(bytes(content.salt or b""), text)
    except (SecretUnreadable, ValueError, IndexError, TypeError) as exc:
        detail = f"{name!r}: {exc}"
        tally.blame(ChainFault(seq, FaultKind.CONTENT_UNREADABLE, detail))
        return
    if chain.tagged(digest) != expected or [content.size, len(text)] != [size] * 2:
        detail = f"{name!r}: {expected} does not follow from text, salt and size"
        tally.blame(ChainFault(seq, FaultKind.CONTENT_CHANGED, detail))
        return
    tally.bodies += 1


def _erased(canonical: bytes) -> set[_Place]:
    """Return what an entry says was erased."""
    try:
        document = orjson.loads(canonical)
        if document["action"] != CONTENT_ERASED:
            return set()
        return {
            _Place(body["seq"], body["name"], body["digest"])
            for body in document["data"]["bodies"]
        }
    except (ValueError, KeyError, TypeError):
        return set()  # tampered with: the walk through the chain says where
