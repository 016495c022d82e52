"""Compares chains with the checkpoints that were signed of them. Reads only.

Those in the database reveal changes made without the signing key. The copies outside
of it also reveal that chains and checkpoints were removed together, and need no trust
in the database.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from apps.audit.chain import ChainFault, FaultKind
from apps.audit.checkpoints.format import SignedCheckpoint, read_line
from apps.audit.merkle.prefix_roots import PrefixRoots
from apps.audit.models import Checkpoint, Entry
from apps.audit.signing import PublicKeys
from apps.audit.sql_dialects import dialect_of

PAGE = 500
"""Checkpoints in memory at once."""
LARGEST = 2**63 - 1


class _SignedPlace(NamedTuple):
    """A checkpoint, what the chain has at its place, and where it was found."""

    checkpoint: SignedCheckpoint
    entry_hash: str | None
    """None: there is no entry."""
    source: str

    def root_fault(self, derived: bytes | None) -> ChainFault | None:
        """Say whether the root of the entries is not the signed one; None: unknown."""
        text = derived and b64encode(derived).decode()
        if not text or not self.checkpoint.root or self.checkpoint.root == text:
            return None
        detail = f"derived root {text!r}, signed {self.checkpoint.root!r}"
        detail += f" in {self.source} of {self._told}"
        return ChainFault(self.checkpoint.seq, FaultKind.TREE_MISMATCH, detail)

    def fault(self, last_seq: int | None) -> ChainFault | None:
        """Say what of the chain is wrong; `last_seq`: of its last entry, if known."""
        if self.entry_hash is None:
            return self._missing(last_seq or 0)
        if self.entry_hash != self.checkpoint.hash:
            detail = f"stored {self.entry_hash!r}, signed {self.checkpoint.hash!r}"
            detail += f" in {self.source} of {self._told}"
            return ChainFault(self.checkpoint.seq, FaultKind.REWRITTEN, detail)
        return None

    @property
    def dropped(self) -> ChainFault:
        """Return the fault of a checkpoint that is gone from the database."""
        detail = f"the database has no checkpoint here; {self.source} of {self._told}"
        return ChainFault(self.checkpoint.seq, FaultKind.CHECKPOINT_MISSING, detail)

    def _missing(self, last_seq: int) -> ChainFault:
        seq = self.checkpoint.seq
        detail = f"{self.source} of {self._told} is at {seq}, the last entry"
        if last_seq > seq:
            return ChainFault(seq, FaultKind.SEQUENCE_GAP, f"{detail} at {last_seq}")
        return ChainFault(
            last_seq + 1, FaultKind.TAIL_MISSING, f"{detail} at {last_seq}"
        )

    @property
    def _told(self) -> str:
        """When it was made: after tampering anything, so quoted."""
        return repr(self.checkpoint.recorded)


def signature_fault(checkpoint: SignedCheckpoint, keys: PublicKeys) -> FaultKind | None:
    """Say whether a checkpoint was not signed with one of `keys`."""
    if checkpoint.key_id not in keys:
        return FaultKind.CHECKPOINT_KEY_UNKNOWN
    if not checkpoint.is_genuine(keys):
        return FaultKind.CHECKPOINT_FORGED
    return None


# --- in the database -----------------------------------------------------------------


def checkpoint_faults(team_id: UUID, keys: PublicKeys) -> Iterator[ChainFault | None]:
    """Yield for each of a team's checkpoints, in order, what is wrong, or None."""
    rows = _stored(team_id, f"ORDER BY c.seq LIMIT {PAGE}")
    while rows:
        for row in rows:
            yield _judge(team_id, row, keys)
        after = rows[-1].checkpoint.seq
        rows = _stored(team_id, f"AND c.seq > {after} ORDER BY c.seq LIMIT {PAGE}")


def signed_roots(team_id: UUID, after: int, through: int) -> list[SignedCheckpoint]:
    """Return the checkpoints with a root between two places, in order."""
    which = f"AND c.seq > {after} AND c.seq <= {through} AND c.root <> ''"
    rows = _stored(team_id, f"{which} ORDER BY c.seq")
    return [row.checkpoint for row in rows]


def newest_checkpoint_faults(
    team_id: UUID, keys: PublicKeys
) -> Iterator[ChainFault | None]:
    """Yield the same for the newest of them, if there is one."""
    for row in _stored(team_id, "ORDER BY c.seq DESC LIMIT 1"):
        yield _judge(team_id, row, keys)


def _judge(team_id: UUID, row: _SignedPlace, keys: PublicKeys) -> ChainFault | None:
    if (kind := signature_fault(row.checkpoint, keys)) is not None:
        detail = f"its key is {row.checkpoint.key_id!r}"
        return ChainFault(row.checkpoint.seq, kind, detail)
    return row.fault(_last_seq(team_id) if row.entry_hash is None else None)


def _stored(team_id: UUID, which: str) -> list[_SignedPlace]:
    """Return checkpoints and their entries as one moment has both."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.seq, c.hash, c.recorded, c.key_id, c.signature, "  # nosec B608
            "c.root, e.hash FROM audit_checkpoint c LEFT JOIN audit_entry e "
            "ON e.team_id = c.team_id AND e.seq = c.seq "
            f"WHERE c.team_id = %s {which}",
            [dialect_of(connection).adapt(team_id)],
        )
        return [
            _SignedPlace(
                SignedCheckpoint(str(team_id), _number(seq), *map(str, texts)),
                entry_hash,
                "the checkpoint",
            )
            for seq, *texts, entry_hash in cursor.fetchall()
        ]


def _number(value: Any) -> int:
    """Return a seq; SQLite can hold text in its place, which sorts behind all."""
    return value if isinstance(value, int) else LARGEST


def _last_seq(team_id: UUID) -> int:
    seqs = Entry.objects.for_team(team_id).filter(seq__lt=LARGEST)
    return seqs.order_by("-seq").values_list("seq", flat=True).first() or 0


# --- copies of them ------------------------------------------------------------------


@dataclass(slots=True)
class Copies:
    """What copied checkpoints say, of as many files as are read."""

    keys: PublicKeys
    team_id: UUID | None = None
    """Only those of this team, if it is given."""
    until: str | None = None
    """Only those not made later, if it is given, as text of the form they hold."""
    counts: Counter[UUID] = field(default_factory=Counter)
    """By team: copies that say what its chain says."""
    faults: dict[UUID, ChainFault] = field(default_factory=dict)
    """By team: the first place of its chain that a copy speaks against."""
    refused: list[str] = field(default_factory=list)
    """Copies that prove nothing, by file and line, with the reason."""
    others: int = 0
    """Lines that are no checkpoints."""
    _roots: dict[UUID, PrefixRoots] = field(default_factory=dict)

    def read(self, name: str, lines: Iterable[str]) -> None:
        """Compare the checkpoints of a file; other lines of a log are passed over."""
        found = self._genuine(name, lines)
        while page := list(islice(found, PAGE)):
            by_team: dict[UUID, list[_SignedPlace]] = defaultdict(list)
            for witness in page:
                by_team[UUID(witness.checkpoint.team)].append(witness)
            for team_id, places in by_team.items():
                self._compare(team_id, places)

    @property
    def total(self) -> int:
        """Return how many copies were compared, whatever came of it."""
        return self.counts.total()

    def _is_wanted(self, checkpoint: SignedCheckpoint) -> bool:
        if self.until is not None and checkpoint.recorded > self.until:
            return False
        return self.team_id is None or UUID(checkpoint.team) == self.team_id

    def _genuine(self, name: str, lines: Iterable[str]) -> Iterator[_SignedPlace]:
        for number, line in enumerate(lines, start=1):
            checkpoint = read_line(line)
            if checkpoint is None:
                self.others += 1
            elif not self._is_wanted(checkpoint):
                continue
            elif (kind := signature_fault(checkpoint, self.keys)) is not None:
                told = f"{kind}, key {checkpoint.key_id!r}"
                self.refused.append(f"{name} line {number}: {told}")
            else:
                yield _SignedPlace(checkpoint, None, f"line {number} of {name}")

    def _compare(self, team_id: UUID, places: list[_SignedPlace]) -> None:
        places.sort(key=lambda witness: witness.checkpoint.seq)
        seqs = [witness.checkpoint.seq for witness in places]
        rows = Entry.objects.for_team(team_id).filter(seq__in=seqs)
        hashes = dict(rows.values_list("seq", "hash"))
        checkpoints = Checkpoint.objects.for_team(team_id).filter(seq__in=seqs)
        present = set(checkpoints.values_list("seq", flat=True))
        last_seq = None if hashes.keys() >= set(seqs) else _last_seq(team_id)
        for seq, bare in zip(seqs, places, strict=True):
            witness = bare._replace(entry_hash=hashes.get(seq))
            self.counts[team_id] += 1
            fault = witness.fault(last_seq)
            if fault is None and bare.checkpoint.root:
                fault = witness.root_fault(self._root(team_id, seq))
            if fault is None and seq not in present:
                fault = witness.dropped
            known = self.faults.get(team_id)
            if fault and (known is None or fault.seq < known.seq):
                self.faults[team_id] = fault

    def _root(self, team_id: UUID, size: int) -> bytes | None:
        """Return the root over the first entries of a chain as they are stored."""
        roots = self._roots.setdefault(team_id, PrefixRoots(team_id))
        return roots.root(size)
