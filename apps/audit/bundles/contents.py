"""Reads what an export of one run holds: its entries, texts, checkpoint and proofs.

Nothing of other runs is read into it but hashes: the one before each entry, and those
of the Merkle tree that its proof needs.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import orjson

from apps.audit.browsing.search import FoundEntry, found_entry
from apps.audit.chain import GENESIS, untagged
from apps.audit.checking import unrecorded_erasures
from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.errors import EntryUnreadable
from apps.audit.merkle.proofs import inclusion_proof
from apps.audit.merkle.stored_tree import StoredTree, TreeUnavailable, tree_extend
from apps.audit.models import Checkpoint, Entry
from apps.audit.opened_texts import OpenedText, texts_open
from apps.audit.storage.stored import (
    NO_NUMBER,
    StoredEntry,
    stored_entries,
    stored_head,
    stored_links,
)
from apps.core.errors import Conflict, NotFound

PAGE = 500
"""Entries read at once."""


class ProvableEntry(Protocol):
    """What is needed of a readable entry."""

    @property
    def seq(self) -> int:
        """Return its place in the chain."""
        ...

    @property
    def canonical(self) -> bytes:
        """Return what was hashed."""
        ...

    @property
    def bodies(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the digest of each text, by name."""
        ...


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """An entry and what proves it."""

    seq: int
    canonical: bytes
    previous: bytes
    """Hash of the entry before it in the chain."""
    path: tuple[bytes, ...]
    """Inclusion proof in the tree of the checkpoint."""
    bodies: Mapping[str, Mapping[str, Any]]
    """Digest of each text, by name."""
    texts: tuple[OpenedText, ...]
    """Empty if texts are not wanted."""

    @property
    def document(self) -> dict[str, Any]:
        """Return what the entry says."""
        values: dict[str, Any] = orjson.loads(self.canonical)
        return values

    @property
    def proof(self) -> dict[str, Any]:
        """Return its proof as the export holds it."""
        path = [b64encode(part).decode() for part in self.path]
        return {"seq": self.seq, "previous": self.previous.hex(), "path": path}


@dataclass(frozen=True, slots=True)
class BundleContents:
    """All entries of a run up to a checkpoint that covers them."""

    team_id: UUID
    run_id: UUID
    checkpoint: SignedCheckpoint
    entries: tuple[BundleEntry, ...]


def bundle_contents(team_id: UUID, run_id: UUID) -> BundleContents:
    """Read the entries of a run, sign the end of the chain if they need it, prove them.

    Raises: NotFound if the team has no entries about it; Conflict if the end of its
    chain cannot be signed, or an entry or a text is gone; SecretUnreadable if a text
    does not open.
    """
    checkpoint = covering_checkpoint(team_id, _last_seq(team_id, run_id))
    rows = [_found(row) for row in _rows(team_id, run_id, checkpoint.seq)]
    require_readable(team_id, rows)
    tree = signed_tree(team_id, checkpoint)
    entries = entries_proven(tree, rows, has_texts=True)
    return BundleContents(team_id, run_id, checkpoint, entries)


def entries_proven(
    tree: StoredTree, rows: Sequence[ProvableEntry], *, has_texts: bool
) -> tuple[BundleEntry, ...]:
    """Return entries with their proofs, and with their texts if they are wanted.

    Raises: Conflict if something is gone, or an entry is not what the tree says;
    SecretUnreadable if a text does not open.
    """
    team_id = tree.team_id
    previous = _previous_hashes(team_id, rows)
    texts: Mapping[int, Sequence[OpenedText]] = {}
    if has_texts:
        texts = texts_open(team_id, {row.seq: row.bodies for row in rows})
        _require_recorded_erasures(team_id, rows, texts)
    return tuple(
        BundleEntry(
            row.seq,
            row.canonical,
            previous[row.seq],
            _path(tree, row.seq),
            row.bodies,
            tuple(texts.get(row.seq, ())),
        )
        for row in rows
    )


def _last_seq(team_id: UUID, run_id: UUID) -> int:
    entries = Entry.objects.for_team(team_id).filter(subject_id=run_id)
    last = entries.order_by("-seq").values_list("seq", flat=True).first()
    if last is None:
        raise NotFound(f"there are no entries about {str(run_id)!r} in this team")
    return last


def _rows(team_id: UUID, run_id: UUID, through: int) -> Iterator[StoredEntry]:
    """Yield all entries of a run up to a place, those that came meanwhile too."""
    after = 0
    while page := stored_entries(team_id, after, PAGE, run_id):
        for row in page:
            if row.seq > through:
                return
            yield row
        after = page[-1].seq


def covering_checkpoint(team_id: UUID, seq: int) -> SignedCheckpoint:
    """Return the first checkpoint with a root that covers an entry, made if need be.

    Raises: Conflict if the end of the chain cannot be signed.
    """
    found = _first_rooted(team_id, seq)
    if found is None:
        checkpoints_create(team_id=team_id)
        found = _first_rooted(team_id, seq)
    if found is None:
        raise Conflict(
            "the end of this team's chain cannot be signed; audit_verify says why"
        )
    told = (found.hash, found.recorded, found.key_id, found.signature, found.root)
    return SignedCheckpoint(str(team_id), found.seq, *told)


def _first_rooted(team_id: UUID, seq: int) -> Checkpoint | None:
    rooted = Checkpoint.objects.for_team(team_id).exclude(root="")
    return rooted.filter(seq__gte=seq).order_by("seq").first()


def signed_tree(team_id: UUID, checkpoint: SignedCheckpoint) -> StoredTree:
    """Return a signed tree. Raises: Conflict if the entries have another root."""
    try:
        tree_extend(team_id, checkpoint.seq)
        tree = StoredTree(team_id, checkpoint.seq)
        if b64encode(tree.root()).decode() == checkpoint.root:
            return tree
    except TreeUnavailable as exc:
        raise Conflict(f"the tree of this team cannot be made: {exc}") from exc
    raise Conflict(
        "the entries of this team do not have the root that was signed; audit_verify "
        "says where"
    )


def _previous_hashes(team_id: UUID, rows: Sequence[ProvableEntry]) -> dict[int, bytes]:
    """Return by seq the hash of the entry before it. Raises: Conflict."""
    links = stored_links(team_id, [row.seq - 1 for row in rows])
    hashes = {1: GENESIS}
    for seq in (row.seq for row in rows if row.seq > 1):
        try:
            hashes[seq] = untagged(links[seq - 1].hash)
        except (KeyError, ValueError) as exc:
            raise Conflict(f"nothing sound comes before entry {seq}") from exc
    return hashes


def _require_recorded_erasures(
    team_id: UUID,
    rows: Iterable[ProvableEntry],
    texts: Mapping[int, Iterable[OpenedText]],
) -> None:
    """Check that each text that is gone was erased by the site. Raises: Conflict."""
    gone = {(t.seq, t.name) for each in texts.values() for t in each if t.text is None}
    places = [
        (row.seq, name, body["digest"])
        for row in rows
        for name, body in row.bodies.items()
        if (row.seq, name) in gone
    ]
    head = stored_head(team_id)
    mac_from = head.mac_from if head else NO_NUMBER
    for fault in unrecorded_erasures(team_id, places, mac_from):
        raise Conflict(f"entry {fault.seq}: {fault.detail}; audit_verify says more")


def _found(row: StoredEntry) -> FoundEntry:
    return found_entry(row.seq, row.action, row.subject_type, row.canonical, row.hash)


def require_readable(team_id: UUID, rows: Iterable[FoundEntry]) -> None:
    """Check that all are entries, whatever they say. Raises: Conflict."""
    for row in rows:
        if not row.is_readable:
            raise Conflict(EntryUnreadable(team_id, row.seq).message)


def _path(tree: StoredTree, seq: int) -> tuple[bytes, ...]:
    """Return the inclusion proof of an entry. Raises: Conflict if it has none."""
    try:
        return tuple(inclusion_proof(seq - 1, tree.size, tree.hash_of))
    except TreeUnavailable as exc:
        raise Conflict(f"entry {seq} cannot be proven: {exc}") from exc
