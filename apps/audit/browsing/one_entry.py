"""One entry with everything that is on record of it, and whether it fits its place."""

from __future__ import annotations

from dataclasses import dataclass
from struct import error as StructError
from uuid import UUID

from apps.audit import chain
from apps.audit.append import GENESIS_HASH, content_context
from apps.audit.browsing.search import FoundEntry, found_entry
from apps.audit.chain import FaultKind
from apps.audit.macs import DETAILS, entry_fault
from apps.audit.models import ChainHead, Content, Entry
from apps.core.errors import SecretUnreadable
from apps.core.keyring import unseal


@dataclass(frozen=True, slots=True)
class EntryText:
    """A text that is kept apart from its entry."""

    name: str
    size: int
    """Bytes."""
    digest: str
    text: str | None
    """None: it has been erased, or does not open."""
    is_erased: bool


@dataclass(frozen=True, slots=True)
class OpenEntry:
    """An entry with its texts."""

    entry: FoundEntry
    canonical: str
    """The bytes that were hashed."""
    previous_hash: str
    """Empty: the entry before it is gone."""
    texts: tuple[EntryText, ...]
    fault: str
    """Why its hash or code do not fit. Empty: they do."""


def entry_open(team_id: UUID, seq: int) -> OpenEntry | None:
    """Return an entry of a team; None if it has no such entry.

    Checks the entry and its link to the one before; only a verification proves more.
    """
    rows = {
        row.seq: row
        for row in Entry.objects.for_team(team_id).filter(seq__in=[seq - 1, seq])
    }
    row = rows.get(seq)
    if row is None:
        return None
    canonical = bytes(row.canonical)
    before = rows.get(seq - 1)
    previous = GENESIS_HASH if seq == 1 else before.hash if before else ""
    entry = found_entry(row.seq, row.action, row.subject_type, canonical, row.hash)
    return OpenEntry(
        entry=entry,
        canonical=canonical.decode("utf-8", "replace"),
        previous_hash=previous,
        texts=_texts(team_id, entry),
        fault=_fault(team_id, row, previous) if entry.is_readable else "no entry",
    )


def _fault(team_id: UUID, row: Entry, previous: str) -> str:
    if not previous:
        return "the entry before it is gone"
    try:
        before = chain.untagged(previous)
        derived = chain.entry_hash(team_id, row.seq, before, bytes(row.canonical))
    except (ValueError, StructError):
        return "the entry before it has no hash"
    if chain.tagged(derived) != row.hash:
        return "its hash does not follow from its bytes and the entry before it"
    heads = ChainHead.objects.filter(team_id=team_id)
    mac_from = heads.values_list("mac_from", flat=True).first()
    if mac_from is None:
        return "the chain has no head"
    if row.seq < mac_from:
        return ""  # written before there were codes
    kind: FaultKind | None = entry_fault(bytes(row.mac), derived)
    return DETAILS[kind] if kind else ""


def _texts(team_id: UUID, entry: FoundEntry) -> tuple[EntryText, ...]:
    if not entry.bodies:
        return ()
    rows = Content.objects.for_team(team_id).filter(seq=entry.seq)
    sealed = dict(rows.values_list("name", "sealed"))
    return tuple(
        _text(team_id, name, body["bytes"], body["digest"], sealed.get(name))
        for name, body in entry.bodies.items()
    )


def _text(
    team_id: UUID, name: str, size: int, digest: str, sealed: bytes | memoryview | None
) -> EntryText:
    if sealed is None:
        return EntryText(name, size, digest, None, is_erased=True)
    try:
        plain = unseal(bytes(sealed), context=content_context(team_id, digest))
        text = plain.decode()
    except (SecretUnreadable, ValueError):
        return EntryText(name, size, digest, None, is_erased=False)
    return EntryText(name, size, digest, text, is_erased=False)
