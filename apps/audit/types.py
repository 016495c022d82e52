"""Values that go into the ledger and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something, and by which request; outlives the row it was taken from."""

    type: str
    """user, api_key, service or model."""
    id: str
    display: str
    on_behalf_of: str = ""
    """For a service or a key: the person behind it."""
    context: Mapping[str, str] = field(default_factory=lambda: NOTHING, compare=False)
    """Request id, address and user agent; empty for what no request caused."""


SERVICE = Actor("service", "conductor", "Conductor")
"""What the product does by itself."""


# Each run makes many of the next three. Named tuples are made several times as fast as
# frozen dataclasses.


class EntryDraft(NamedTuple):
    """One thing that happened, before it has a place in the chain."""

    action: str
    """Dotted past tense, for example `run.created`."""
    subject_type: str
    subject_id: UUID
    actor: Actor
    data: Mapping[str, Any]
    """Whole numbers, words, booleans, null, lists and objects of these; no floats."""
    bodies: Mapping[str, str] = NOTHING
    """Content kept apart, encrypted; the chain holds salted digests."""
    outcome: str = "success"
    """success, failure, denied, unknown or cancelled."""


class RowWrite(NamedTuple):
    """A statement on a projection, committed together with the entries."""

    sql: str
    """With %s for each parameter."""
    params: tuple[Any, ...]
    """Plain values, UUID, enums or aware datetimes; JSON as text."""
    phase: int = 0
    """Lower phases run first. Within one, equal statements run together, in order."""
    must_change_row: bool = False
    """True: unless exactly one row changes, the whole batch fails with StaleWrite."""


class Batch(NamedTuple):
    """Entries of one team and the writes they report: all are stored, or none."""

    team_id: UUID
    drafts: tuple[EntryDraft, ...]
    """At least one: no state changes without an entry."""
    writes: tuple[RowWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """The place an entry got."""

    seq: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased at once, and the entries that say so."""

    texts: int
    entries: tuple[WrittenEntry, ...]


@dataclass(frozen=True, slots=True)
class EntryTexts:
    """The names of an entry's bodies, erased ones included."""

    seq: int
    subject_id: UUID
    recorded_at: datetime
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry as it is read back."""

    seq: int
    id: UUID
    action: str
    outcome: str
    subject_type: str
    subject_id: UUID
    recorded_at: datetime
    actor: Actor
    context: Mapping[str, str]
    data: Mapping[str, Any]
    bodies: Mapping[str, str | None]
    """None: the text has been erased."""
    hash: str
    previous_hash: str | None = None
    """Of the entry before it in the chain; None if it was not read."""
