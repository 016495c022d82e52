"""Checks single entries and their texts, and counts what a verification has seen.

The columns against the hashed bytes, the code against the key, the texts against their
digests. A text that is gone must be named by an entry of the site's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import error as StructError
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from apps.audit import chain
from apps.audit.append import GENESIS_HASH, content_context
from apps.audit.chain import ChainFault, FaultKind
from apps.audit.macs import DETAILS, entry_fault
from apps.audit.models import Content
from apps.audit.services import CONTENT_ERASED
from apps.audit.storage.stored import (
    NO_NUMBER,
    StoredEntry,
    StoredErasure,
    stored_erasures,
)
from apps.core.errors import SecretUnreadable
from apps.core.keyring import unseal

MAX_FAULTS = 100
"""Faults that are listed; further ones are counted."""
MAX_MISSING = 20_000
"""Missing bodies remembered before they are compared with the erasures."""
_WHOLE_SECOND = ".000000"
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
class Tally:
    """What a walk has seen so far."""

    team_id: UUID
    checks_macs: bool = True
    entries: int = 0
    bodies: int = 0
    erased: int = 0
    checkpoints: int = 0
    macs: int = 0
    mac_from: int = NO_NUMBER
    """The first entry that must have a code; without a head no one can say."""
    missing: set[_Place] = field(default_factory=set)
    """Bodies that are gone."""
    fault_count: int = 0
    _faults: dict[tuple[int, FaultKind], ChainFault] = field(default_factory=dict)

    @property
    def faults(self) -> tuple[ChainFault, ...]:
        """Return the first faults of the chain, in order."""
        return tuple(sorted(self._faults.values(), key=lambda fault: fault.seq))

    def blame(self, fault: ChainFault | None) -> None:
        """Count a fault, and keep it if it is among the first of the chain."""
        if fault is None or (fault.seq, fault.kind) in self._faults:
            return
        self.fault_count += 1
        self._faults[fault.seq, fault.kind] = fault
        if len(self._faults) > MAX_FAULTS:
            last = self.faults[-1]
            del self._faults[last.seq, last.kind]

    def settle(self) -> None:
        """Compare the missing bodies with the erasures on record."""
        if not self.missing:
            return
        first = min(self.missing).seq
        for erasure in stored_erasures(self.team_id, first, CONTENT_ERASED):
            if self._is_authentic(erasure):
                self.missing -= _erased(erasure.canonical)
        for seq, name, _ in sorted(self.missing):
            detail = f"no entry says that {name!r} was erased"
            self.blame(ChainFault(seq, FaultKind.CONTENT_MISSING, detail))
        self.missing.clear()

    def _is_authentic(self, erasure: StoredErasure) -> bool:
        """Say whether an entry follows from the one before, and is the site's own."""
        try:
            previous = chain.untagged(erasure.previous_hash or GENESIS_HASH)
            derived = chain.entry_hash(
                self.team_id, erasure.seq, previous, erasure.canonical
            )
        except (ValueError, StructError):
            return False
        if chain.tagged(derived) != erasure.hash:
            return False
        return erasure.seq < self.mac_from or not entry_fault(erasure.mac, derived)

    def hear(self, found: Iterable[ChainFault | None]) -> None:
        """Count checkpoints that agree with the chain, up to one that does not."""
        for fault in found:
            if fault:
                self.blame(fault)
                break
            self.checkpoints += 1


def unrecorded_erasures(
    team_id: UUID, gone: Iterable[tuple[int, str, str]], mac_from: int
) -> tuple[ChainFault, ...]:
    """Return the faults of bodies that are gone and that no entry says were erased.

    `gone`: seq, name and digest of each; `mac_from`: as the head has it.
    """
    tally = Tally(team_id, mac_from=mac_from)
    tally.missing = {_Place(*place) for place in gone}
    tally.settle()
    return tally.faults


def check_entries(tally: Tally, rows: Iterable[StoredEntry]) -> None:
    """Check the columns and bodies of entries whose places are sound."""
    bodies: list[_Body] = []
    for row in rows:
        try:
            fault = _mac_fault(tally, row) or _entry_fault(row, bodies)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as exc:
            detail = f"not an entry: {type(exc).__name__} {exc}"
            fault = ChainFault(row.seq, FaultKind.NOT_CANONICAL, detail)
        if fault:
            tally.blame(fault)
            continue
        tally.entries += 1
    contents = _contents(tally.team_id, bodies)
    for body in bodies:
        _check_body(tally, body, contents.get(body.place[:2]))
    if len(tally.missing) > MAX_MISSING:
        tally.settle()


def _mac_fault(tally: Tally, row: StoredEntry) -> ChainFault | None:
    """Check the code of an entry that must have one."""
    if row.seq < tally.mac_from:
        return None
    kind = entry_fault(row.mac, chain.untagged(row.hash))
    if kind is None:
        tally.macs += 1
        return None
    return ChainFault(row.seq, kind, DETAILS[kind])


def _entry_fault(row: StoredEntry, bodies: list[_Body]) -> ChainFault | None:
    """Compare the columns with the bytes; note the bodies the entry refers to."""
    document = orjson.loads(row.canonical)
    encoded = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    if encoded != row.canonical or document.keys() != _KEYS or document["v"] != 1:
        return ChainFault(row.seq, FaultKind.NOT_CANONICAL, "not an entry of version 1")
    target = document["targets"][0]
    recorded = document["recorded"].replace("T", " ").removesuffix("Z")
    for column, stored, hashed in (
        ("action", row.action, document["action"]),
        ("subject_type", row.subject_type, target["type"]),
        ("subject_id", str(row.subject_id), target["id"]),
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


def _check_body(tally: Tally, body: _Body, content: _Content | None) -> None:
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
