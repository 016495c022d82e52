"""Filters of exports: as the ledger and the database keep them, and what they find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from apps.audit.browsing.search import EntryFilter, FoundEntry, entries_find

PAGE = 500
"""Entries read at once."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """Entries in the order of the chain, and how far the search has come."""

    entries: Sequence[FoundEntry]
    reached: int
    """All entries up to this seq have been searched."""


def filter_facts(wanted: EntryFilter) -> dict[str, Any]:
    """Return a filter as facts of an entry, without what it leaves open."""
    facts: dict[str, Any] = {
        "action": wanted.action,
        "actor": wanted.actor,
        "subject_id": wanted.subject_id and str(wanted.subject_id),
        "outcome": wanted.outcome,
        "data_class": wanted.data_class,
        "since": _text(wanted.since),
        "until": _text(wanted.until),
        "text": wanted.text,
        "is_rare": wanted.is_rare,
    }
    return {name: value for name, value in facts.items() if value}


def filter_read(facts: Mapping[str, Any]) -> EntryFilter:
    """Return the filter that `filter_facts` described."""
    values = dict(facts)
    for name in ("since", "until"):
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    if "subject_id" in values:
        values["subject_id"] = UUID(values["subject_id"])
    return EntryFilter(**values)


def pages_found(
    team_id: UUID, wanted: EntryFilter, through: int
) -> Iterator[FoundPage]:
    """Yield the wanted entries up to a seq, oldest first, in pages of bounded work."""
    after: int | None = 0
    while after is not None and after < through:
        found = entries_find(team_id, wanted, limit=PAGE, after=after)
        entries = [e for e in reversed(found.entries) if e.seq <= through]
        after = found.newer
        yield FoundPage(entries, min(through if after is None else after, through))


def _text(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat() if moment else ""
