"""Finds entries of one team, newest first, by what they are about.

Every answer takes bounded work, whatever the length of the chain: pages begin at a seq,
nothing is counted, and what no index leads to is looked for in a limited number of
entries. An answer then says where the search goes on.

Which index: that of the subject; those of entries that are no routine of runs
(`ROUTINE_ACTIONS`), by action or all; else the chain itself, which has no gaps. Times
grow along the chain, so a period is a part of it, found by bisection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import connection

from apps.audit.append import recorded_time
from apps.audit.models import ROUTINE_ACTIONS, ChainHead, Entry
from apps.audit.sql_dialects import dialect_of
from apps.audit.storage.compression import decompressed
from apps.audit.types import Actor
from apps.core.data_classes import DataClassName, classes_from

SEARCHED = 5_000
"""Entries that one answer looks through at most, where no index leads to matches."""
GROWTH = 4
"""Each part of a search is so many times as long as the one before."""
PROBES = 32
"""Entries whose times are read at once to find where a period begins."""
GROUP = ".*"
"""Ends the name of a group of actions: `api_key.*`."""
UNKNOWN = Actor("", "", "")
_RARE = f"NOT ({' OR '.join(f'action = {name!r}' for name in ROUTINE_ACTIONS)})"
"""The condition of the indexes, word for word: SQLite proves no other one."""
_COLUMNS = "seq, action, subject_type, subject_id, canonical, hash"


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries are wanted: those to which all of this applies."""

    action: str = ""
    """One action, or a group of them: `api_key.*`."""
    actor: str = ""
    """The id of the person, key or service that did it, or a part of its name."""
    subject_id: UUID | None = None
    """Of the thing it was done to."""
    outcome: str = ""
    data_class: DataClassName | None = None
    """Of the prompt: this class or a higher one, where the entry records a class."""
    since: datetime | None = None
    until: datetime | None = None
    """Itself no longer in the period."""
    text: str = ""
    """Words in an entry, whatever their case; not in texts that are kept apart."""
    is_rare: bool = False
    """True: no entries that every run writes."""

    @property
    def is_active(self) -> bool:
        """Say whether anything is left out."""
        return self != EntryFilter()


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry, without the texts that are kept apart."""

    seq: int
    action: str
    subject_type: str
    subject_id: UUID | None
    """None: the entry is not readable."""
    hash: str
    canonical: bytes
    """What was hashed."""
    id: str = ""
    recorded_at: datetime | None = None
    outcome: str = ""
    actor: Actor = UNKNOWN
    data: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Length in bytes and digest of each text, by name."""

    @property
    def text_sizes(self) -> dict[str, int]:
        """Return the bytes of each text that is kept apart, by name."""
        return {name: body["bytes"] for name, body in self.bodies.items()}

    @property
    def is_readable(self) -> bool:
        """Say whether the stored bytes are an entry; others were tampered with."""
        return bool(self.id)


@dataclass(frozen=True, slots=True)
class Found:
    """A page of entries, newest first."""

    entries: Sequence[FoundEntry]
    older: int | None
    """Older entries: those before this seq. None: there are none."""
    newer: int | None
    """Newer entries: those after this seq. None: there are none."""
    searched: int
    """Entries that were looked through."""
    is_cut: bool
    """True: the search ended before the page was full; matches may be further on."""


class _Row(NamedTuple):
    """The columns of `_COLUMNS`."""

    seq: int
    action: str
    subject_type: str
    subject_id: Any
    canonical: bytes
    hash: str


class _Part(NamedTuple):
    """A part of a chain, both ends included."""

    first: int
    last: int


class _Source(NamedTuple):
    """Where entries are read that may be wanted."""

    team: Any
    """Id, as the driver takes it."""
    conditions: str
    """On all rows."""
    values: tuple[Any, ...] = ()
    actions: tuple[str, ...] = ()
    """Read one by one from their index; empty: the other index that fits."""
    is_chain: bool = False
    """True: no index leads to them; parts of the chain are read."""

    def read(
        self, rest: _Part, size: int, *, is_up: bool
    ) -> tuple[Sequence[_Row], _Part]:
        """Return rows from one end of `rest`, and the part that has been read then.

        Of the chain `size` entries are read, of an index `size` rows.
        """
        if self.is_chain:
            seen = (
                _Part(rest.first, min(rest.first + size - 1, rest.last))
                if is_up
                else _Part(max(rest.last - size + 1, rest.first), rest.last)
            )
            return self._select(seen, is_up, None), seen
        rows = self._select(rest, is_up, size)
        if len(rows) < size:
            return rows, rest
        end = rows[-1].seq
        return rows, rest._replace(**{"last" if is_up else "first": end})

    def _select(self, part: _Part, is_up: bool, limit: int | None) -> list[_Row]:
        order = f"ORDER BY seq {'ASC' if is_up else 'DESC'}"
        end = "" if limit is None else f" LIMIT {limit}"
        where = f"team_id = %s AND seq BETWEEN %s AND %s{self.conditions}"
        values: list[Any] = [self.team, *part, *self.values]
        if self.actions:
            each = (
                f"SELECT * FROM (SELECT seq FROM audit_entry WHERE {where} "  # nosec B608
                f"AND action = %s {order}{end}) AS one_action"
            )
            seqs = " UNION ALL ".join([each] * len(self.actions))
            values = [v for name in self.actions for v in (*values, name)]
            where = f"team_id = %s AND seq IN ({seqs})"
            values = [self.team, *values]
        # Values go in as parameters; the rest is written here.
        rows = f"SELECT {_COLUMNS} FROM audit_entry WHERE {where}"  # nosec B608
        sql = f"{rows} {order}{end}"
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return [_Row(*row) for row in cursor.fetchall()]


# --- what other modules call ---------------------------------------------------------


def entries_find(
    team_id: UUID,
    wanted: EntryFilter,
    *,
    limit: int,
    before: int | None = None,
    after: int | None = None,
) -> Found:
    """Return the newest entries that are wanted, of those before a seq.

    With `after` instead: the oldest of those behind a seq, newest first all the same.
    """
    period = _period(team_id, wanted)
    source = _source_of(team_id, wanted)
    is_up = after is not None
    rest = _Part(
        max(period.first, (after or 0) + 1),
        period.last if before is None else min(period.last, before - 1),
    )
    matches: list[FoundEntry] = []
    size, searched = limit + 1, 0
    while rest.first <= rest.last and searched < SEARCHED and len(matches) <= limit:
        rows, seen = source.read(rest, size, is_up=is_up)
        matches += [m for m in (_match(row, wanted) for row in rows) if m is not None]
        searched += seen.last - seen.first + 1 if source.is_chain else len(rows)
        rest = (
            _Part(seen.last + 1, rest.last)
            if is_up
            else _Part(rest.first, seen.first - 1)
        )
        size = min(size * GROWTH, max(SEARCHED - searched, 1))
    is_full, is_cut = len(matches) > limit, rest.first <= rest.last
    matches = matches[:limit]
    # Where the search goes on in its own direction, and the way back.
    on = matches[-1].seq if is_full else None
    if on is None and is_cut:
        on = rest.first - 1 if is_up else rest.last + 1
    back = matches[0].seq if matches else None
    if is_up:
        back = (after or 0) + 1 if back is None else back
        older, newer = back if back > period.first else None, on
        matches.reverse()
    else:
        back = (before or 0) - 1 if back is None else back
        has_newer = before is not None and back < period.last
        older, newer = on, back if has_newer else None
    return Found(matches, older, newer, searched, is_cut and not is_full)


def actions_recorded(team_id: UUID) -> list[str]:
    """Return the actions in a team's chain by name, and all that runs always write."""
    # Jumps from each name to the next in the index: no entry is looked at twice.
    next_name = (
        "SELECT min(action) AS name FROM audit_entry "  # nosec B608
        f"WHERE team_id = %s AND {_RARE}"
    )
    sql = (
        f"WITH RECURSIVE names (name) AS ({next_name} UNION ALL "  # nosec B608
        f"SELECT ({next_name} AND action > names.name) FROM names "
        "WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
    )
    team = dialect_of(connection).adapt(team_id)
    with connection.cursor() as cursor:
        cursor.execute(sql, [team, team])
        return sorted({*ROUTINE_ACTIONS, *(name for (name,) in cursor.fetchall())})


# --- where to look -------------------------------------------------------------------


def _source_of(team_id: UUID, wanted: EntryFilter) -> _Source:
    dialect = dialect_of(connection)
    team = dialect.adapt(team_id)
    if wanted.subject_id is not None:
        subject = (dialect.adapt(wanted.subject_id),)
        return _Source(team, " AND subject_id = %s", subject)
    rare = f" AND {_RARE}"
    if wanted.action:
        names = _actions_of(team_id, wanted.action)
        if wanted.is_rare or not set(names) & set(ROUTINE_ACTIONS):
            names = tuple(name for name in names if name not in ROUTINE_ACTIONS)
            # An action that nobody has recorded: its index says so at once.
            return _Source(team, rare, actions=names or (wanted.action,))
        marks = ", ".join(["%s"] * len(names))
        return _Source(team, f" AND action IN ({marks})", names, is_chain=True)
    if wanted.is_rare:
        return _Source(team, rare)
    return _Source(team, "", is_chain=True)


def _actions_of(team_id: UUID, action: str) -> tuple[str, ...]:
    """Return the actions that a name, or the name of a group, stands for."""
    if not action.endswith(GROUP):
        return (action,)
    start = action.removesuffix("*")
    return tuple(n for n in actions_recorded(team_id) if n.startswith(start))


def _period(team_id: UUID, wanted: EntryFilter) -> _Part:
    """Return the part of the chain that lies in the period."""
    heads = ChainHead.objects.filter(team_id=team_id)
    last = heads.values_list("seq", flat=True).first() or 0
    whole = _Part(1, last)
    return _Part(
        _first_from(team_id, whole, wanted.since) if wanted.since else 1,
        _first_from(team_id, whole, wanted.until) - 1 if wanted.until else last,
    )


def _first_from(team_id: UUID, part: _Part, moment: datetime) -> int:
    """Return the first seq that was recorded at `moment` or later, or the one behind.

    As the clock went on from entry to entry; one that was set back may hide a few.
    """
    first, last = part.first, part.last + 1  # what is looked for is among these
    while first < last:
        step = max((last - first) // PROBES, 1)
        probes = range(first, last, step)
        times = dict(
            Entry.objects.for_team(team_id)
            .filter(seq__in=list(probes))
            .values_list("seq", "recorded_at")
        )
        earlier = [seq for seq in probes if seq in times and times[seq] < moment]
        later = [seq for seq in probes if seq in times and times[seq] >= moment]
        if not times:
            return first  # these entries are gone: verification says so
        first, last = (
            max(earlier, default=first - 1) + 1,
            min(later, default=last),
        )
    return first


# --- what is wanted ------------------------------------------------------------------


def _match(row: _Row, wanted: EntryFilter) -> FoundEntry | None:
    """Return an entry if it is wanted."""
    if wanted.action and not _has_action(row.action, wanted.action):
        return None
    if wanted.is_rare and row.action in ROUTINE_ACTIONS:
        return None
    canonical = decompressed(row.canonical)
    for choices in _fact_needles(wanted.outcome, wanted.data_class):
        if not any(needle in canonical for needle in choices):
            return None
    needles = [_needle(text) for text in (wanted.actor, wanted.text) if text]
    if needles:
        # Most entries fall out here, which is cheaper than reading them.
        text = canonical.decode("utf-8", "replace").casefold()
        if not all(needle in text for needle in needles):
            return None
    entry = found_entry(row.seq, row.action, row.subject_type, canonical, row.hash)
    if wanted.outcome and entry.outcome != wanted.outcome:
        return None
    if wanted.actor and not _is_by(entry.actor, wanted.actor):
        return None
    if wanted.data_class and not _is_of_class(entry, wanted.data_class):
        return None
    return entry if not wanted.text or _says(entry, wanted.text) else None


def _has_action(action: str, wanted: str) -> bool:
    if wanted.endswith(GROUP):
        return action.startswith(wanted.removesuffix("*"))
    return action == wanted


def _needle(text: str) -> str:
    """Return a text as canonical JSON holds it, in folded case."""
    return orjson.dumps(text)[1:-1].decode().casefold()


@lru_cache(maxsize=64)
def _fact_needles(
    outcome: str, data_class: DataClassName | None
) -> tuple[tuple[bytes, ...], ...]:
    """Return what the bytes of wanted entries hold: of each group one at least."""
    found: list[tuple[bytes, ...]] = []
    if outcome:
        found.append((b'"outcome":' + orjson.dumps(outcome),))
    if data_class:
        classes = classes_from(data_class)
        found.append(tuple(b'"data_class":' + orjson.dumps(name) for name in classes))
    return tuple(found)


def _is_by(actor: Actor, wanted: str) -> bool:
    names = f"{actor.display}\n{actor.on_behalf_of}".casefold()
    return actor.id == wanted or wanted.casefold() in names


def _is_of_class(entry: FoundEntry, wanted: DataClassName) -> bool:
    return entry.data.get("data_class") in classes_from(wanted)


def _says(entry: FoundEntry, text: str) -> bool:
    """Say whether an entry holds a text, and not by chance in a digest."""
    told = [
        entry.action,
        str(entry.subject_id),
        entry.actor.display,
        entry.actor.id,
        entry.actor.on_behalf_of,
        dict(entry.data),
        dict(entry.context),
    ]
    return _needle(text) in orjson.dumps(told).decode().casefold()


def found_entry(
    seq: int, action: str, subject_type: str, canonical: bytes, digest: str
) -> FoundEntry:
    """Return an entry as its bytes say; one that is no entry as its columns say."""
    try:
        document = orjson.loads(canonical)
        target = document["targets"][0]
        return FoundEntry(
            seq=seq,
            action=str(document["action"]),
            subject_type=str(target["type"]),
            subject_id=UUID(target["id"]),
            hash=digest,
            canonical=canonical,
            id=str(document["id"]),
            recorded_at=recorded_time(document["recorded"]),
            outcome=str(document["outcome"]),
            actor=Actor(**document["actor"]),
            data=dict(document["data"]),
            context=dict(document["context"]),
            bodies={
                name: {"bytes": int(body["bytes"]), "digest": str(body["digest"])}
                for name, body in document["bodies"].items()
            },
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return FoundEntry(seq, action, subject_type, None, digest, canonical)
