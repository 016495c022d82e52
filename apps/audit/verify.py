"""Verifies that the ledger has not been changed. Reads only.

Everything is derived anew: sequence, hashes, the head, the columns from the hashed
bytes, the digests from the decrypted bodies, the Merkle tree. A chain of any length is
walked in pages.
The walk continues past a fault, and does not report what only follows from it.
It runs beside writers without a transaction: the head is read before each page, so
every entry up to it must exist. An attacker who rewrites all rows from some place to
the end, head included, cannot sign new checkpoints (`checkpoints/verification.py`); if
the checkpoints are removed too, their copies outside of the database show it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from struct import error as StructError
from uuid import UUID

import orjson
from django.db import connection

from apps.audit import chain
from apps.audit.chain import ChainCheck, ChainFault, FaultKind, Link, Position
from apps.audit.checking import Tally, check_entries
from apps.audit.checkpoints.verification import (
    checkpoint_faults,
    newest_checkpoint_faults,
)
from apps.audit.macs import DETAILS, head_fault
from apps.audit.merkle.verification import TreeWalk
from apps.audit.signing import PublicKeys, own_public_keys
from apps.audit.storage.stored import (
    NO_NUMBER,
    StoredEntry,
    StoredHead,
    entries_naming,
    stored_entries,
    stored_head,
    stored_links,
)

PAGE = 500
"""Entries in memory at once, with their bodies."""
NEARBY = 1_000
"""Entries before and after those of a subject among which hidden ones are looked for,
unless the whole chain is asked for."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was checked, and what was found wrong."""

    team_id: UUID
    entries: int
    """Entries found sound."""
    bodies: int
    """Bodies decrypted and found to match their digests."""
    erased: int
    """Bodies that are gone; each must be covered by an entry that says so."""
    checkpoints: int
    """Signed checkpoints that say what the entries say."""
    macs: int
    """Entries whose code is right; older ones have none."""
    end: Position
    """The last sound entry before the first break; its hash stands for the whole chain
    before it."""
    faults: tuple[ChainFault, ...] = ()
    """The first `MAX_FAULTS` of the chain, in order."""
    fault_count: int = 0

    @property
    def fault(self) -> ChainFault | None:
        """Return the first fault, if there is one."""
        return self.faults[0] if self.faults else None

    def with_fault(self, fault: ChainFault | None) -> VerifyReport:
        """Return the report with one more fault, unless it has that already."""
        known = {(each.seq, each.kind) for each in self.faults}
        if fault is None or (fault.seq, fault.kind) in known:
            return self
        faults = sorted((*self.faults, fault), key=lambda each: each.seq)
        return replace(self, faults=tuple(faults), fault_count=self.fault_count + 1)

    @property
    def is_intact(self) -> bool:
        """Say whether no fault was found."""
        return not self.faults


def team_ids() -> list[UUID]:
    """Return every team that has a chain, or entries or checkpoints without one."""
    tables = ("audit_chainhead", "audit_entry", "audit_checkpoint")
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ".join(f"SELECT team_id FROM {table}" for table in tables)  # nosec B608
        )
        stored = [team_id for (team_id,) in cursor.fetchall()]
    # A row moved to something that is no team is missed in the team it came from.
    return sorted(team_id for team_id in stored if isinstance(team_id, UUID))


def verify_team(team_id: UUID, keys: PublicKeys | None = None) -> VerifyReport:
    """Walk a team's chain from its first entry to its head, then its checkpoints.

    `keys`: whose checkpoints count; those of this site if none are given. With the keys
    of another site codes are not checked: that takes the secret.
    """
    steps = verify_steps(team_id, keys)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            report: VerifyReport = end.value
            return report


def verify_steps(
    team_id: UUID, keys: PublicKeys | None = None
) -> Generator[int, None, VerifyReport]:
    """Do the same; yield the seq that it has come to, page by page."""
    tally = Tally(team_id, checks_macs=keys is None)
    walk = _Walk(tally)
    tree = TreeWalk(team_id, _keys_or_own(keys))
    while True:
        head = _read_head(tally)
        rows = stored_entries(team_id, walk.seq, PAGE)
        # A seq that is no number sorts behind all, and would be read for ever.
        if not rows or rows[0].seq <= walk.seq:
            tally.blame(_head_fault(tally, head, walk.end_for(head)))
            break
        walk.follow(rows)
        if walk.is_whole:
            for fault in tree.follow([row.hash for row in rows]):
                tally.blame(fault)
        yield walk.seq
    for fault in tree.settle():
        tally.blame(fault)
    tally.hear(checkpoint_faults(team_id, _keys_or_own(keys)))
    if not tally.fault_count:
        for fault in tree.surplus():
            tally.blame(fault)
    return _report(tally, walk.sound_end)


def verify_subject(
    team_id: UUID,
    subject_id: UUID,
    keys: PublicKeys | None = None,
    *,
    is_thorough: bool = False,
) -> VerifyReport:
    """Check the entries of one subject and how they sit between their neighbours.

    And that the chain reaches the team's newest checkpoint, that its head is the
    site's own, and that no entry of the subject is filed under another one nearby;
    `is_thorough`: anywhere in the chain. Quick, and enough to trust what a page shows.
    That no entry was taken away far from the others, only `verify_team` can tell.
    """
    tally = Tally(team_id, checks_macs=keys is None)
    end = chain.START
    first_seq = None
    while not tally.fault_count:
        rows = stored_entries(team_id, end.seq, PAGE, subject_id)
        if not rows:
            break
        first_seq = rows[0].seq if first_seq is None else first_seq
        head = _read_head(tally)
        links = stored_links(
            team_id, {r.seq + step for r in rows for step in (-1, 0, 1)}
        )
        sound = 0
        for row in rows:
            fault = _place_fault(tally, row, links, head)
            if fault:
                tally.blame(fault)
                break
            sound += 1
            end = Position(row.seq, chain.untagged(row.hash))
        check_entries(tally, rows[:sound])
    tally.blame(_hidden(team_id, subject_id, first_seq, end.seq, is_thorough))
    if tally.entries:
        tally.blame(_head_mac_fault(tally, stored_head(team_id)))
        tally.hear(newest_checkpoint_faults(team_id, _keys_or_own(keys)))
    return _report(tally, end)


def _hidden(
    team_id: UUID,
    subject_id: UUID,
    first_seq: int | None,
    last_seq: int,
    is_thorough: bool,
) -> ChainFault | None:
    """Find an entry about a subject that is filed under another one."""
    if is_thorough:
        first, last = 0, NO_NUMBER
    elif first_seq is None:
        return None
    else:
        first, last = first_seq - NEARBY, last_seq + NEARBY
    for seq, canonical in entries_naming(team_id, subject_id, first, last):
        if _subject_of(canonical) == str(subject_id):
            detail = f"it is about {str(subject_id)!r}, and filed under another id"
            return ChainFault(seq, FaultKind.COLUMN_CHANGED, detail)
    return None


def _subject_of(canonical: bytes) -> str | None:
    try:
        return str(orjson.loads(canonical)["targets"][0]["id"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None  # no entry: a walk through the chain finds that


def _report(tally: Tally, end: Position) -> VerifyReport:
    tally.settle()
    return VerifyReport(
        tally.team_id,
        tally.entries,
        tally.bodies,
        tally.erased,
        tally.checkpoints,
        tally.macs,
        end,
        tally.faults,
        tally.fault_count,
    )


def _keys_or_own(keys: PublicKeys | None) -> PublicKeys:
    return own_public_keys() if keys is None else keys


# --- places --------------------------------------------------------------------------


class _Walk:
    """Goes through a chain from its first entry on, past faults too.

    An entry whose hash does not fit is one fault. Those behind it are passed over until
    one fits the entry before it, by the hash that is stored or the one that is derived.
    """

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._ends = [chain.START]
        """From where the next entry can follow."""
        self._is_broken = False
        """True: the last entry did not fit."""
        self.sound_end = chain.START
        """The last entry before the first that did not fit."""
        self.is_whole = True
        """False: some entry did not fit."""

    @property
    def seq(self) -> int:
        """Return the place of the last entry."""
        return self._ends[0].seq

    def end_for(self, head: StoredHead | None) -> Position:
        """Return the last entry; if it did not fit, its hash is what the head says."""
        if head and self._is_broken:
            with suppress(ValueError):
                return Position(self.seq, chain.untagged(head.hash))
        return self._ends[0]

    def follow(self, rows: Sequence[StoredEntry]) -> None:
        """Check entries that come next."""
        while rows:
            check = self._check(rows)
            sound = check.end.seq - self.seq
            check_entries(self._tally, rows[:sound])
            if self.is_whole:
                self.sound_end = check.end
            if sound:
                self._ends, self._is_broken = [check.end], False
            if check.fault is None:
                return
            self._pass(rows[sound], check)
            rows = rows[sound + 1 :]

    def _check(self, rows: Sequence[StoredEntry]) -> ChainCheck:
        """Follow the chain as far as it holds."""
        checks = []
        for end in self._ends:
            links = (row.link for row in rows)
            check = chain.verify_chain(self._tally.team_id, links, start=end)
            if check.end != end:
                return check
            checks.append(check)
        return checks[0]

    def _pass(self, row: StoredEntry, check: ChainCheck) -> None:
        """Go past an entry that does not fit."""
        is_mismatch = (
            check.fault is not None and check.fault.kind is FaultKind.HASH_MISMATCH
        )
        if not (is_mismatch and self._is_broken):
            self._tally.blame(check.fault)
        if self._is_broken or not is_mismatch:
            # Nothing says that this entry is at fault; the one before it is.
            check_entries(self._tally, [row])
        hashes = []
        with suppress(ValueError):
            hashes.append(chain.untagged(row.hash))
        if is_mismatch:
            before = check.end.hash
            hashes.append(
                chain.entry_hash(self._tally.team_id, row.seq, before, row.canonical)
            )
        self._ends = [Position(row.seq, each) for each in hashes or [chain.GENESIS]]
        self._is_broken = is_mismatch or not hashes
        self.is_whole = False


def _read_head(tally: Tally) -> StoredHead | None:
    head = stored_head(tally.team_id)
    if head and tally.checks_macs:
        tally.mac_from = head.mac_from
    return head


def _head_fault(
    tally: Tally, head: StoredHead | None, end: Position
) -> ChainFault | None:
    """Compare the head, read before there were no more entries, with the last entry."""
    if head is None:
        if end.seq == 0:
            return None
        return ChainFault(end.seq, FaultKind.HEAD_MISSING, "the chain has no head")
    if head.seq > end.seq:
        detail = f"the head is at {head.seq}, the last entry at {end.seq}"
        return ChainFault(end.seq + 1, FaultKind.TAIL_MISSING, detail)
    if head.seq < end.seq:
        detail = f"the head is at {head.seq}, the last entry at {end.seq}"
        return ChainFault(max(head.seq, 0) + 1, FaultKind.HEAD_BEHIND, detail)
    if head.hash != chain.tagged(end.hash):
        detail = f"the head says {head.hash!r}, the entry {chain.tagged(end.hash)!r}"
        return ChainFault(head.seq, FaultKind.HEAD_CHANGED, detail)
    return _head_mac_fault(tally, head)


def _head_mac_fault(tally: Tally, head: StoredHead | None) -> ChainFault | None:
    """Check the code of a head."""
    if head is None or not tally.checks_macs:
        return None
    try:
        kind = head_fault(tally.team_id, head.head)
    except (ValueError, StructError):
        return ChainFault(head.seq, FaultKind.HEAD_CHANGED, "the head has no hash")
    if kind is None:
        return None
    return ChainFault(head.seq, kind, f"{DETAILS[kind]}, on the head")


def _place_fault(
    tally: Tally, row: StoredEntry, links: dict[int, Link], head: StoredHead | None
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
    check = chain.verify_chain(tally.team_id, [row.link, *following], start=start)
    if check.fault or following:
        return check.fault
    return _head_fault(tally, head, check.end)
